// The skeleton of a name: texts that a person could take for each other have the same one.

/** By the Latin letter they look like; capitals apart, since a capital and its small letter may look like different ones. */
const LOOK_ALIKES: readonly (readonly [letter: string, others: string])[] = [
  ["a", "аαɑ"],
  ["b", "ьв"],
  ["c", "сϲ"],
  ["d", "ԁđ"],
  ["e", "еєҽε℮"],
  ["f", "ғ"],
  ["g", "ɡց"],
  ["h", "һհħ"],
  ["i", "іıι"],
  ["j", "јյ"],
  ["k", "кκ"],
  ["l", "ӏłⅼ∣"],
  ["m", "м"],
  ["n", "пηոռ"],
  ["o", "оοօøσ"],
  ["p", "рρ"],
  ["q", "ԛզ"],
  ["r", "г"],
  ["s", "ѕ"],
  ["t", "тτ"],
  ["u", "սυ"],
  ["v", "ѵν"],
  ["w", "ԝωѡ"],
  ["x", "хχ"],
  ["y", "уүγ"],
  ["z", "ᴢ"],
  ["A", "АΑ"],
  ["B", "ВΒ"],
  ["C", "С"],
  ["E", "ЕΕ"],
  ["H", "НΗ"],
  ["I", "ІΙ"],
  ["J", "Ј"],
  ["K", "КΚ"],
  ["M", "МΜ"],
  ["N", "Ν"],
  ["O", "ОΟ"],
  ["P", "РΡ"],
  ["S", "Ѕ"],
  ["T", "ТΤ"],
  ["X", "ХΧ"],
  ["Y", "УΥ"],
  ["Z", "Ζ"],
];

const LATIN = new Map(
  LOOK_ALIKES.flatMap(([letter, others]) => Array.from(others, (one): [string, string] => [one, letter])),
);

/** Names are short: what is longer than this is compared by its beginning. */
const MAX_CHARS = 256;

/**
 * Without case, accents, invisible characters and separators; letters of other scripts and full-width forms as the Latin
 * letters they look like; `0` as `o`; `1`, `i` and `|` as `l`; `rn` as `m`; `vv` as `w`. Only for comparing.
 */
export function skeleton(text: string): string {
  const short = text.slice(0, MAX_CHARS);
  const folded = isAscii(short) ? asciiSkeleton(short) : otherSkeleton(latin(short));
  return folded.includes("rn") || folded.includes("vv") ? folded.replaceAll("rn", "m").replaceAll("vv", "w") : folded;
}

/** By character code: ten thousand names are compared at once, and nearly all are ASCII. */
const ASCII: readonly string[] = Array.from({ length: 128 }, (_, code) => otherSkeleton(String.fromCharCode(code)));

function asciiSkeleton(text: string): string {
  let folded = "";
  for (let at = 0; at < text.length; at += 1) folded += ASCII[text.charCodeAt(at)] ?? "";
  return folded;
}

function otherSkeleton(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[1i|]/gu, "l")
    .replaceAll("0", "o")
    .replaceAll(/[^\p{L}\p{N}]+/gu, "");
}

/** The name without case and separators: differences that honest names have too. */
export function plainForm(text: string): string {
  return text
    .slice(0, MAX_CHARS)
    .toLowerCase()
    .replaceAll(/[\s_./-]+/gu, "");
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/u.test(text);
}

function latin(text: string): string {
  const bare = text.normalize("NFKD").replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, "");
  return Array.from(bare, (character) => LATIN.get(character) ?? character).join("");
}
