// The skeleton of a name: texts that a person could take for each other have the same one.

/** Each after the Latin letter it looks like; capitals apart, since a capital and its small letter may look like different ones. */
const LOOK_ALIKES = `
aаαɑ bьв cсϲ dԁđ eеєҽε℮ fғ gɡց hһհħ iіıι jјյ kкκ lӏłⅼ∣ mм nпηոռ oоοօøσ pрρ qԛզ rг sѕ tтτ uսυ vѵν wԝωѡ xхχ yуүγ
zᴢ AАΑ BВΒ CС EЕΕ HНΗ IІΙ JЈ KКΚ MМΜ NΝ OОΟ PРΡ SЅ TТΤ XХΧ YУΥ ZΖ`;

const LATIN = new Map(
  LOOK_ALIKES.trim()
    .split(/\s+/u)
    .flatMap((group) => {
      const [letter = "", ...others] = Array.from(group);
      return others.map((one): [string, string] => [one, letter]);
    }),
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
