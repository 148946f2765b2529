"""Sampler: slots and scratch that stay on the device between steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from . import _check
from ._launch import ALL, Draws, Launches, Params, Rows, launch, needed, tile_of
from ._sample import make_draws, make_scratch


class Sampler:
    """Draws for requests whose parameters stay in slots on the device.

    A call launches the kernels and nothing else: it allocates no memory, copies
    nothing and waits for nothing, so that it can be captured in a CUDA graph. What
    set and clear write, and what a call draws, is ordered by the current stream; a
    Sampler is to be used on one stream at a time.

    A slot that was never set, or was cleared, is greedy.
    """

    def __init__(
        self,
        max_rows: int,
        vocab: int,
        slots: int | None = None,
        dtype: torch.dtype = torch.bfloat16,
        device: torch.device | str | int = "cuda",
        *,
        logit_bias: bool = False,
        bitmask: bool = False,
        penalties: bool = False,
    ) -> None:
        """For batches of up to max_rows rows of vocab logits.

        slots is max_rows if left out. dtype is that of the logits. logit_bias,
        bitmask and penalties say whether requests may have them: a slot then takes
        4, 1/8 and 4 bytes for each token of the vocabulary, which a draw reads too.
        """
        slots = max_rows if slots is None else slots
        for name, n in (("max_rows", max_rows), ("slots", slots)):
            if isinstance(n, bool) or not isinstance(n, int) or n < 1:
                _check.fail(name, "an integer >= 1", n)
        if isinstance(vocab, bool) or not isinstance(vocab, int) or not 1 <= vocab <= _check.MAX_VOCAB:
            _check.fail("vocab", f"an integer in [1, {_check.MAX_VOCAB}]", vocab)
        if dtype not in _check.DTYPES:
            _check.fail("dtype", "float32, float16 or bfloat16", dtype)
        device = torch.device(device)
        if device.type != "cuda":
            _check.fail("device", "a CUDA device", device)
        if device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        self.max_rows, self.vocab, self.slots, self.dtype, self.device = max_rows, vocab, slots, dtype, device

        def full(value: float, kind: torch.dtype) -> Tensor:
            return torch.full((slots,), value, dtype=kind, device=device)

        with torch.cuda.device(device):
            self._tile = tile_of(vocab, dtype.itemsize)
            self._scratch = make_scratch(max_rows, self._tile, device)
            self._out = make_draws(max_rows, device)
            self._params = Params(
                temperature=full(0, torch.float32),
                top_k=full(0, torch.int32),
                top_p=full(1, torch.float32),
                min_p=full(0, torch.float32),
                filter_order=full(0, torch.int32),
                seed=full(0, torch.int64),
                step=full(0, torch.int64),
                repetition_penalty=full(1, torch.float32) if penalties else None,
                frequency_penalty=full(0, torch.float32) if penalties else None,
                presence_penalty=full(0, torch.float32) if penalties else None,
                logit_bias=torch.zeros(slots, vocab, dtype=torch.float32, device=device) if logit_bias else None,
                bitmask=torch.full((slots, -(-vocab // 32)), -1, dtype=torch.int32, device=device) if bitmask else None,
                counts=torch.zeros(slots, vocab, dtype=torch.int32, device=device) if penalties else None,
            )
        self._views: dict[int, Draws] = {}
        # What each slot needs, and how many slots need it.
        self._needs = [Launches(mass=False, head=False)] * slots
        self._mass = self._head = 0
        self._loaded: set[tuple[bool, ...]] = set()

    def step(self) -> Tensor:
        """int64 [slots]: a copy of the steps, the bits of uint64."""
        return self._params.step.clone()

    def set(
        self,
        slot: int,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        filter_order: str = "joint",
        seed: int = 0,
        step: int = 0,
        repetition_penalty: float = 1.0,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        logit_bias: Mapping[int, float] | None = None,
        allowed_token_ids: Sequence[int] | None = None,
        prompt_tokens: Sequence[int] = (),
        output_tokens: Sequence[int] = (),
    ) -> None:
        """Gives a slot to a request: nothing of an earlier one stays.

        Raises ValueError for a number that SPEC.md, section 9, does not allow, and
        for a bias, list or penalty that this Sampler was not made for.
        """
        self._check_slot(slot)
        p = self._params
        numbers = {
            "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "filter_order": filter_order,
            "seed": seed, "step": step, "repetition_penalty": repetition_penalty,
            "frequency_penalty": frequency_penalty, "presence_penalty": presence_penalty,
        }  # fmt: skip
        numbers = {name: _check.SCALARS[name](x) for name, x in numbers.items()}
        off = {"repetition_penalty": 1, "frequency_penalty": 0, "presence_penalty": 0}
        if p.counts is None:
            for name, x in off.items():
                got = numbers.pop(name)
                if got != x:
                    _check.fail(name, f"{x} in a Sampler made without penalties", got)
        bias_ids, bias = list(logit_bias or ()), list((logit_bias or {}).values())
        if logit_bias and p.logit_bias is None:
            _check.fail("logit_bias", "absent in a Sampler made without logit_bias", f"{len(bias_ids)} ids")
        if allowed_token_ids is not None and p.bitmask is None:
            _check.fail("allowed_token_ids", "absent in a Sampler made without bitmask", "a list")
        if allowed_token_ids is not None and len(allowed_token_ids) == 0:
            _check.fail("allowed_token_ids", "a list of at least one id", "none")
        for name, ids in (
            ("logit_bias", bias_ids), ("allowed_token_ids", allowed_token_ids or ()),
            ("prompt_tokens", prompt_tokens), ("output_tokens", output_tokens),
        ):  # fmt: skip
            for i in ids:
                if not 0 <= i < self.vocab:
                    _check.fail(name, f"ids in [0, {self.vocab})", i)
        for x in bias:
            if not x <= 3.4028234663852886e38 or -float("inf") < x < -3.4028234663852886e38:
                _check.fail("logit_bias", "finite or -inf", x)

        for name, x in numbers.items():
            getattr(p, name)[slot] = x
        if p.logit_bias is not None:
            row = p.logit_bias[slot]
            row.zero_()
            if bias_ids:
                row[self._ids(bias_ids)] = torch.tensor(bias, dtype=torch.float32).to(self.device)
        if p.bitmask is not None:
            p.bitmask[slot] = -1
            if allowed_token_ids is not None:
                words = [0] * p.bitmask.shape[1]
                for i in allowed_token_ids:
                    words[i // 32] |= 1 << i % 32
                signed = [w - (1 << 32) if w >= 1 << 31 else w for w in words]
                p.bitmask[slot] = torch.tensor(signed, dtype=torch.int32).to(self.device)
        if p.counts is not None:
            row = p.counts[slot]
            row.zero_()
            if len(output_tokens) > 0:
                ids = self._ids(output_tokens)
                row.index_add_(0, ids, torch.full_like(ids, 2, dtype=torch.int32))
            if len(prompt_tokens) + len(output_tokens) > 0:
                ids = self._ids([*prompt_tokens, *output_tokens])
                row[ids] = row[ids] | 1
        self._plan(slot, needed(*(numbers[k] for k in ("temperature", "top_k", "top_p", "min_p", "filter_order"))))

    def clear(self, slot: int) -> None:
        """Wipes a slot: nothing of its request stays on the device."""
        self.set(slot, temperature=0.0)

    def set_bitmask(self, slots: Tensor, words: Tensor) -> None:
        """Replaces the masks of some slots, as a grammar does at each step: int64
        [n] slots, all different, and int32 [n, ceil(vocab / 32)], on the device."""
        if self._params.bitmask is None:
            raise ValueError("words must be absent in a Sampler made without bitmask, got a tensor")
        _check.tensor("slots", slots, (torch.int64,), ("n",), self.device)
        _check.tensor("words", words, (torch.int32,), (slots.shape[0], self._params.bitmask.shape[1]), self.device)
        self._params.bitmask.index_copy_(0, slots, words)

    def count(self, token: Tensor, row_slot: Tensor | None = None) -> None:
        """Adds drawn tokens to the text of their slots, on the device. No slot may
        own two of the rows. token: int32 [rows], -1 for none; row_slot as drawn."""
        counts = self._params.counts
        if counts is None:
            return
        rows = token.shape[0]
        _check.tensor("token", token, (torch.int32,), ("rows",), self.device)
        if row_slot is None:
            slot = torch.arange(rows, device=self.device)
        else:
            _check.tensor("row_slot", row_slot, (torch.int32,), (rows,), self.device)
            slot = row_slot.to(torch.int64)
        at = slot * self.vocab + token.clamp(min=0)
        flat = counts.view(-1)
        old = flat[at]
        flat[at] = torch.where(token >= 0, (old + 2) | 1, old)

    def __call__(
        self,
        logits: Tensor,
        *,
        row_slot: Tensor | None = None,
        row_step: Tensor | None = None,
        u: Tensor | None = None,
        advance: bool = False,
    ) -> Draws:
        """Draws one token from each row of logits [rows, vocab].

        row_slot, row_step and u are as in sample; without row_slot, row i is of slot
        i. With advance the kernels add 1 to the step of each slot that a token was
        drawn for, and no slot may own two rows; to draw several tokens of a request
        at once, leave it off and give row_step.

        The result is overwritten by the next call. Launches that no slot needs are
        left out, except while a CUDA graph is captured, since slots may change
        before it is replayed. Before a capture, call it once with the same arguments:
        that compiles and loads the kernels.
        """
        rows, vocab = _check.logits(logits)
        if rows == 0:
            return self._view(0)
        if logits.device != self.device:
            _check.fail("logits", f"on {self.device}", logits.device)
        if logits.dtype != self.dtype:
            _check.fail("logits", str(self.dtype).removeprefix("torch."), logits.dtype)
        if vocab != self.vocab:
            _check.fail("logits", f"of vocab {self.vocab}", vocab)
        most = self.max_rows if row_slot is not None else min(self.max_rows, self.slots)
        if rows > most:
            _check.fail("logits", f"of at most {most} rows", rows)
        r = Rows(row_slot, row_step, u)
        _check.row_tensors(r, rows, self.device)
        r = Rows(row_slot, _check.as_int64(row_step), _check.as_int64(u))

        launches = Launches(mass=self._mass > 0, head=self._head > 0)
        out = self._view(rows)
        with torch.cuda.device(self.device):
            # A first call loads all kernels, so that a capture after it need not.
            kind = (row_slot is None, row_step is None, u is None, advance)
            if kind not in self._loaded or torch.cuda.is_current_stream_capturing():
                self._loaded.add(kind)
                launches = ALL
            launch(
                logits, logits.stride(0), rows, vocab, self._tile, self._params, r, self._scratch, out, launches,
                advance=advance,
            )  # fmt: skip
        return out

    def _view(self, rows: int) -> Draws:
        if rows not in self._views:
            self._views[rows] = Draws(*(x[:rows] for x in self._out))
        return self._views[rows]

    def _ids(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor(list(ids), dtype=torch.int64).to(self.device)

    def _check_slot(self, slot: int) -> None:
        if isinstance(slot, bool) or not isinstance(slot, int) or not 0 <= slot < self.slots:
            _check.fail("slot", f"an integer in [0, {self.slots})", slot)

    def _plan(self, slot: int, need: Launches) -> None:
        old = self._needs[slot]
        self._mass += need.mass - old.mass
        self._head += need.head - old.head
        self._needs[slot] = need
