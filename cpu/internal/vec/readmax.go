package vec

// readMax is the fastest readMaxGeneric of this machine; the platform's file
// may replace it.
var readMax = readMaxGeneric

// ReadMax returns the largest element of x, which has no NaN, or -Inf if x is
// empty. It does as little as a function can that reads all of x: benchmarks
// measure the others against it.
func ReadMax(x []float32) float32 { return readMax(x) }

func readMaxGeneric(x []float32) float32 {
	top := int32(keyNegInf)
	for _, z := range x {
		top = max(top, Key(z))
	}
	return FromKey(top)
}
