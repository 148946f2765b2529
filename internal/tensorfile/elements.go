package tensorfile

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

// bufferBytes is the piece in which elements are read and written.
const bufferBytes = 64 << 10

// readInto reads the t.Rows*t.Cols elements of t from r. Reading straight into
// the slice's memory, with unsafe, would save 19 ms of 66 for 64 rows of 128256
// float32, once a file: not worth it.
func (t *Tensor) readInto(r io.Reader) (err error) {
	n := t.Rows * t.Cols
	if t.DType == Float32 {
		t.F32, err = readElements(r, n, 4, func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			}
		})
		return err
	}
	t.U16, err = readElements(r, n, 2, func(dst []uint16, src []byte) {
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint16(src[2*i:])
		}
	})
	return err
}

// readElements reads n elements of size bytes each. The slice doubles as the
// data arrives, so that a false n costs no memory.
func readElements[T any](r io.Reader, n, size int, decode func(dst []T, src []byte)) ([]T, error) {
	buf := make([]byte, min(n, bufferBytes/size)*size)
	out := make([]T, 0, len(buf)/size)
	for len(out) < n {
		if len(out) == cap(out) {
			// Not 2*cap: that could overflow.
			grown := make([]T, len(out), len(out)+min(len(out), n-len(out)))
			copy(grown, out)
			out = grown
		}
		k := min(cap(out)-len(out), len(buf)/size)
		if _, err := io.ReadFull(r, buf[:k*size]); err != nil {
			return nil, err
		}
		out = out[:len(out)+k]
		decode(out[len(out)-k:], buf)
	}
	return out, nil
}

// writeElements writes the elements of t to w.
func (t *Tensor) writeElements(w io.Writer) error {
	// An error sticks in the buffer, and Flush returns it.
	buf := bufio.NewWriterSize(w, bufferBytes)
	for _, x := range t.F32 {
		buf.Write(binary.LittleEndian.AppendUint32(buf.AvailableBuffer(), math.Float32bits(x)))
	}
	for _, x := range t.U16 {
		buf.Write(binary.LittleEndian.AppendUint16(buf.AvailableBuffer(), x))
	}
	return buf.Flush()
}
