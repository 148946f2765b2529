package floor

import "math"

func readGo(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, z := range x {
		top = max(top, z)
	}
	return top
}

func read16Go(x []int16) int16 {
	top := int16(math.MinInt16)
	for _, z := range x {
		top = max(top, z)
	}
	return top
}
