package cpu

import (
	"math/bits"
	"slices"

	"github.com/tokendraw/tokendraw/cpu/internal/vec"
)

// sort puts the first n gathered tokens into the order of SPEC.md, section 4:
// score descending, id ascending.
func (w *worker) sort(n int) {
	w.keys = grow(w.keys, n)
	for i, z := range w.z[:n] {
		w.keys[i] = sortKey(z, w.id[i])
	}
	if n <= 32 {
		slices.Sort(w.keys)
	} else {
		width := 8
		if n > 1024 {
			width = 11
		}
		w.spare = grow(w.spare, n)
		w.keys, w.spare = radixSort(w.keys, w.spare, w.count[:1<<width])
	}
	for i, k := range w.keys {
		w.z[i], w.id[i] = vec.FromKey(^keyOf(k)), uint32(k)
	}
}

// sortKey returns a number that is smaller for tokens that come first.
func sortKey(z float32, id uint32) uint64 {
	return uint64(uint32(^vec.Key(z))^1<<31)<<32 | uint64(id)
}

func keyOf(k uint64) int32 { return int32(uint32(k>>32) ^ 1<<31) }

// radixSort sorts keys by their upper 32 bits and keeps the order of equal ones.
// It takes as many bits at a time as count, whose length is a power of 2, has
// room for. It returns the sorted slice, one of the two, and the other.
func radixSort(keys, spare []uint64, count []uint32) (sorted, other []uint64) {
	width := bits.Len(uint(len(count))) - 1
	mask := uint64(len(count) - 1)
	for shift := 32; shift < 64; shift += width {
		clear(count)
		for _, k := range keys {
			count[k>>shift&mask]++
		}
		if int(count[keys[0]>>shift&mask]) == len(keys) {
			continue // all have this digit
		}
		at := uint32(0)
		for i, n := range count {
			count[i] = at
			at += n
		}
		for _, k := range keys {
			p := &count[k>>shift&mask]
			spare[*p] = k
			*p++
		}
		keys, spare = spare, keys
	}
	return keys, spare
}
