// Package tokendraw draws one token per request from a batch of logits, with
// each request's own temperature, top_k, top_p, min_p, penalties, bias, masks,
// seed and step.
//
// A row's token is a pure function of that row's logits, parameters, seed and
// step: it does not depend on the batch, the place in it, the number of
// threads, or the hardware. SPEC.md is the contract; every backend meets it bit
// for bit.
//
// This package holds the nouns. Package [github.com/tokendraw/tokendraw/cpu]
// draws on any machine; package [github.com/tokendraw/tokendraw/oracle] is the
// slow and obvious sampler that judges the others.
package tokendraw
