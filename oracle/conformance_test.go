package oracle_test

import (
	"testing"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/internal/backendtest"
	"github.com/tokendraw/tokendraw/oracle"
)

// The oracle is trivially equal to itself; the suite's other parts are not
// trivial for it.
func TestConformance(t *testing.T) {
	backendtest.Run(t, "oracle", func(testing.TB) tokendraw.Sampler { return oracle.New() }, backendtest.Some(8))
}
