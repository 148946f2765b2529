package tensorfile

import (
	"bytes"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, dtype := range []DType{Float32, BFloat16} {
		t := random(dtype, 64, 128256)
		var file bytes.Buffer
		if err := WriteSafetensors(&file, t); err != nil {
			b.Fatal(err)
		}
		b.Run(dtype.String(), func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(file.Bytes()), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
