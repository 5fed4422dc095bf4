#!/usr/bin/python3
"""Writes a small vocabulary of word pieces (wordpiece.vocab) and one of byte pairs (bpe.vocab, bpe.merges), and text.txt:
what the published algorithms, written down here once more in plain Python, make of texts that golden_operators_test.c
runs through the operators. Run by hand when a case is added, in this folder.

WordPiece as in google-research/bert: clean, split at ideographs and blanks, lower case (letter by letter) and NFD without
marks, split at punctuation, longest match. Byte pairs as in openai/gpt-2: its regular expression, with Python's own tables
for \\p{L}, \\p{N} and \\s, then the first merge again and again.
"""
import json
import random
import re
import sys
import unicodedata
from collections import Counter

CORPUS = """\
the quick brown fox jumps over the lazy dog and the dog isn't amused
we're training models on streams that never stop, so the data is never the same
café crème brûlée, naïve façade, Ångström, garçon, señor, über alles
retraining the model on the newest samples is what the trigger asks for
1999 was the year, 2024 is the year; 10,000 samples in 3.14 seconds
привет мир, как дела, мир новый
γειά σου κόσμε, καλημέρα
the workers tokenize the text and the trainers train on the tokens
they'll say I'd've done it, you've seen it, it's what she's told them
"""
TEXTS = [
    "", " ", "the", "The Quick BROWN fox.", "unseenwordshere the", "it's, isn't; we'll 'quoted' they'VE",
    "tab\tand\nnewline\r\nand  two   blanks  ", "caf\u00e9 cafe\u0301 CAFÉ", "Ångström Å \u212b ﬁne",
    "“curly” – dashes — and… ‘quotes’", "日本語のテキスト中文", "한국어 텍스트", "ПРИВЕТ Мир", "Καλημέρα ΚΟΣΜΕ",
    "emoji 😀 and 👩\u200d👩\u200d👧 done", "a\u00a0b\u2003c\u3000d", "zero\u200bwidth\ufeff soft\u00adhyphen",
    "control\x01\x7f\x85char \x0b\x0c", "x" * 150 + " the", "the" * 30, "snake_case and kebab-case @#$%^&*()",
    "1234567890 ½ ² Ⅷ ٣٤٥", "İstanbul ıI ǅ ẞß", "≠ ; ` ´ ¨", "##ing # ## [CLS] [UNK]", "नमस्ते दुनिया", "العربية",
    "\ud7ff\ue000 \U000e0001 \U0010fffd", "trailing blanks   ", "   leading", "\n\n\n", " \n the\n the",
]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


# ---- WordPiece ----

def is_punctuation(char):
    code = ord(char)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(char).startswith("P")


def is_chinese(code):
    return any(first <= code <= last for first, last in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
        (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def basic_tokens(text, lower):
    cleaned = ""
    for char in text:
        if char in " \t\n\r" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
            cleaned += " "
        elif char != "\ufffd" and not unicodedata.category(char).startswith("C"):
            cleaned += f" {char} " if is_chinese(ord(char)) else char
    tokens = []
    for word in cleaned.split():
        if lower:
            word = unicodedata.normalize("NFD", "".join(char.lower() for char in word))
            word = "".join(char for char in word if unicodedata.category(char) != "Mn")
        part = ""
        for char in word:
            if is_punctuation(char):
                tokens += [part, char] if part else [char]
                part = ""
            else:
                part += char
        tokens += [part] if part else []
    return tokens


def wordpiece(text, ids, lower=True, longest=100):
    numbers = []
    for word in basic_tokens(text, lower):
        pieces, start = [], 0
        while start < len(word) and len(word) <= longest:
            ends = [end for end in range(len(word), start, -1)
                    if ("##" if start else "") + word[start:end] in ids]
            if not ends:
                break
            pieces.append(ids[("##" if start else "") + word[start:ends[0]]])
            start = ends[0]
        numbers += pieces if start == len(word) else [ids["[UNK]"]]
    return numbers


def wordpiece_vocabulary():
    words = Counter(word for text in [CORPUS] + TEXTS[:16] for word in basic_tokens(text, True))
    pieces = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + 8) + 1):
                pieces[("##" if start else "") + word[start:end]] += count
    kept = [piece for piece, count in sorted(pieces.items()) if len(piece.lstrip("#")) == 1 or count >= 3]
    cased = ["The", "BROWN", "##VE", "É", "CAF", "##É"]
    return SPECIALS + [piece for piece in kept + cased if piece not in SPECIALS]


# ---- byte pairs ----

def alphabet():
    seen = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in seen}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + sum(b not in seen for b in range(byte))))
    return letters


def character_class(categories):
    codes = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c))[0] in categories]
    runs, first = [], codes[0]
    for code, behind in zip(codes, codes[1:] + [None]):
        if behind != code + 1:
            runs.append(f"\\U{first:08x}-\\U{code:08x}")
            first = behind
    return "".join(runs)


BLANKS = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
LETTERS, NUMBERS = character_class("L"), character_class("N")
WORDS = re.compile(f"'s|'t|'re|'ve|'m|'ll|'d| ?[{LETTERS}]+| ?[{NUMBERS}]+| ?[^{BLANKS}{LETTERS}{NUMBERS}]+|"
                   f"[{BLANKS}]+(?![^{BLANKS}])|[{BLANKS}]+")
LETTER_OF = alphabet()


def pairs(word):
    return list(zip(word, word[1:]))


def join(word, pair):
    joined, i = [], 0
    while i < len(word):
        if tuple(word[i:i + 2]) == pair:
            joined.append(word[i] + word[i + 1])
            i += 2
        else:
            joined.append(word[i])
            i += 1
    return joined


def words_of(text):
    return [[LETTER_OF[b] for b in found.encode("utf-8", "surrogatepass")] for found in WORDS.findall(text)]


def learn_merges(count):
    words, merges = Counter(tuple(word) for word in words_of(CORPUS)), []
    for _ in range(count):
        found = Counter()
        for word, times in words.items():
            for pair in pairs(word):
                found[pair] += times
        best = max(found, key=lambda pair: (found[pair], pair))
        merges.append(best)
        words = Counter({tuple(join(list(word), best)): times for word, times in words.items()})
    return merges


def byte_pairs(text, ids, ranks):
    numbers = []
    for word in words_of(text):
        while len(word) > 1:
            best = min(pairs(word), key=lambda pair: ranks.get(pair, len(ranks)))
            if best not in ranks:
                break
            word = join(word, best)
        numbers += [ids[token] for token in word]
    return numbers


# ---- cases ----

def random_texts(count):
    draw = random.Random(5)
    scripts = [range(0x20, 0x7F), range(0x20, 0x7F), range(0xA0, 0x250), range(0x300, 0x530), range(0x590, 0x6D0),
               range(0x900, 0xA00), range(0xAC00, 0xB000), range(0x1E00, 0x2070), range(0x20A0, 0x2200),
               range(0x3000, 0x3100), range(0x4E00, 0x4E40), range(0x1F600, 0x1F640), range(0xF900, 0xFB10)]
    words = CORPUS.split()
    for _ in range(count):
        text = ""
        for _ in range(draw.randrange(30)):
            text += draw.choice([" ", " ", draw.choice(words), chr(draw.choice(draw.choice(scripts)))])
        yield text


def case(operators, texts, rows):
    print("operators:", operators)
    for text in texts:
        print("row:", json.dumps({"t": text}))
    print("i32:", " ".join(str(number) for row in rows for number in row))


def main():
    folder = "tests/unit/preprocess/golden"
    pieces = wordpiece_vocabulary()
    with open("wordpiece.vocab", "w") as out:
        out.write("\n".join(pieces) + "\n")
    merges = learn_merges(220)
    tokens = sorted(LETTER_OF.values()) + [a + b for a, b in merges] + ["<|endoftext|>"]
    ids = {token: number for number, token in enumerate(tokens)}
    with open("bpe.vocab", "w") as out:
        json.dump(ids, out, indent=0)
    with open("bpe.merges", "w") as out:
        out.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    number_of = {piece: number for number, piece in enumerate(pieces)}
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    read, drawn = "{op: json_text, field: t}", list(random_texts(192))
    for part in [TEXTS] + [drawn[i:i + 64] for i in range(0, len(drawn), 64)]:
        case(f"[{read}, {{op: wordpiece, vocabulary: {folder}/wordpiece.vocab}}]", part,
             [wordpiece(text, number_of) for text in part])
        case(f"[{read}, {{op: bpe, vocabulary: {folder}/bpe.vocab, merges: {folder}/bpe.merges}}]", part,
             [byte_pairs(text, ids, ranks) for text in part])
    case(f"[{read}, {{op: wordpiece, vocabulary: {folder}/wordpiece.vocab, lower: false, word_max: 20, "
         "begin: '[CLS]', end: '[SEP]'}]", TEXTS,
         [[2, *wordpiece(text, number_of, lower=False, longest=20), 3] for text in TEXTS])
    end = ids["<|endoftext|>"]
    case(f"[{read}, {{op: bpe, vocabulary: {folder}/bpe.vocab, merges: {folder}/bpe.merges, blank: true, "
         "end: <|endoftext|>}]", TEXTS,
         [[*byte_pairs(" " + text if text and text[0] != " " else text, ids, ranks), end] for text in TEXTS])


if __name__ == "__main__":
    main()
