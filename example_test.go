package tokendraw_test

import (
	"fmt"
	"log"

	"github.com/tokendraw/tokendraw"
	"github.com/tokendraw/tokendraw/cpu"
)

// A decode loop of one request, with penalties over its text. A model would
// compute the logits; here each token makes the next one likely.
func Example() {
	const vocab, end = 8, 7
	model := func(last int32) []float32 {
		logits := make([]float32, vocab)
		logits[(last+1)%vocab] = 9
		return logits
	}

	sampler, err := cpu.New(cpu.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer sampler.Close()

	prompt := []int32{2}
	var text tokendraw.History // counts what the penalties need
	text.AddPrompt(prompt...)
	request := tokendraw.Request{
		Params: tokendraw.Params{Temperature: 0.8, TopP: 0.95, RepetitionPenalty: 1.1, FrequencyPenalty: 0.2},
		Seed:   7, // one of its own for each request
	}
	draws := make([]tokendraw.Draw, 1)
	for last := prompt[0]; ; {
		request.Counts = text.Counts()
		batch := tokendraw.Batch{
			Logits:   tokendraw.Logits{F32: model(last), Rows: 1, Vocab: vocab},
			Requests: []tokendraw.Request{request},
		}
		if err := sampler.Sample(&batch, draws); err != nil {
			log.Fatal(err)
		}
		last = draws[0].Token
		if last < 0 || last == end { // -1 where nothing can be drawn
			break
		}
		fmt.Println(last)
		text.AddOutput(last)
		request.Step++
	}
	// Output:
	// 3
	// 4
	// 5
	// 6
}
