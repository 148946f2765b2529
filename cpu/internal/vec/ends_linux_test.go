package vec

import (
	"syscall"
	"testing"
	"unsafe"
)

// fenced returns n zero elements between two pages that fault when touched:
// right behind the first one, or right before the second.
func fenced[T any](t *testing.T, n int, behind bool) []T {
	t.Helper()
	page := syscall.Getpagesize()
	size := n * int(unsafe.Sizeof(*new(T)))
	inside := (size + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, page+inside+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	for _, fence := range [][]byte{all[:page], all[page+inside:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	at := page
	if !behind {
		at += inside - size
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&all[at])), n)
}

// Nothing before or after a slice is read or written: it would fault.
func TestEnds(t *testing.T) {
	const most = 4*Block + 5
	for _, behind := range []bool{true, false} {
		x, y, z := fenced[float32](t, most, behind), fenced[float32](t, most, behind), fenced[float32](t, most, behind)
		id, w := fenced[uint32](t, most, behind), fenced[uint64](t, most, behind)
		h, dst := fenced[uint16](t, most, behind), fenced[float32](t, most, behind)
		forVariants(t, func(t *testing.T, v *Funcs) {
			for n := 1; n <= most; n++ {
				from := most - n // ends at the second fence
				if behind {
					from = 0
				}
				x, y, z, id, w, h := x[from:][:n], y[from:][:n], z[from:][:n], id[from:][:n], w[from:][:n], h[from:][:n]
				clear(x)
				v.ConvertF16(y, h)
				v.ConvertBF16(y, h)
				v.CountGE(x, 0)
				v.Gather(z, id, x, 0, 0, 1)
				v.Mass(x, 0, 1)
				v.MassLight(x, 50, 1)
				v.Weigh(y, w, x, 0, 1)
				v.Digits(id, x, 0, 1, 2)
				ReadMax(x)
				// One hit at each end.
				x[0], x[n-1] = 1, 1
				v.Gather(z, id, x, 0, 1, 1)
			}
			for blocks := 1; blocks <= most/Block; blocks++ {
				from, to := most-blocks*Block, most-blocks*Lanes
				if behind {
					from, to = 0, 0
				}
				x, h, dst := x[from:][:blocks*Block], h[from:][:blocks*Block], dst[to:][:blocks*Lanes]
				v.MaximaF32(dst, x)
				v.MaximaF16(dst, h)
				v.MaximaBF16(dst, h)
			}
		})
	}
}
