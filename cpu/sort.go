package cpu

import (
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
	if n <= 64 {
		slices.Sort(w.keys)
	} else {
		w.spare = grow(w.spare, n)
		w.keys, w.spare = radixSort(w.keys, w.spare)
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

// radixSort sorts keys by their upper 32 bits, of which it takes 11 at a time,
// and keeps the order of equal ones. It returns the sorted slice, one of the
// two, and the other.
func radixSort(keys, spare []uint64) (sorted, other []uint64) {
	const digits, radix = 3, 1 << 11
	var count [digits][radix]uint32
	for _, k := range keys {
		count[0][k>>32%radix]++
		count[1][k>>43%radix]++
		count[2][k>>54]++
	}
	for d := range digits {
		shift, places := 32+11*d, &count[d]
		if int(places[keys[0]>>shift%radix]) == len(keys) {
			continue // all have this digit
		}
		at := uint32(0)
		for i, n := range places {
			places[i] = at
			at += n
		}
		for _, k := range keys {
			p := &places[k>>shift%radix]
			spare[*p] = k
			*p++
		}
		keys, spare = spare, keys
	}
	return keys, spare
}
