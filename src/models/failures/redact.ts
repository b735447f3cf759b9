// Takes keys out of what people and logs get to see: those in use, and whatever looks like one.

const MASK = "[key]";

/** Shorter ones would take ordinary words with them, and no provider has such. */
const MIN_KEY_CHARS = 6;

/** Prefixes of the keys providers give out; the stars are how some of them echo one. */
const LOOKS_LIKE_KEY: readonly RegExp[] = [
  /\b(?:sk|pk|rk|xai|gsk|key|sess|hf|ghp|nvapi|pplx|csk)[-_][\w*-]{8,}/g,
  /\bAIza[\w*-]{16,}/g,
  /\bya29\.[\w.-]+/g,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g,
];

/** `Authorization: Bearer …`, `x-api-key: …`, `?key=…`: the name stays. */
const NAMED_KEY =
  /\b(bearer\s+|(?:x-api-key|x-goog-api-key|api[_-]?key|key|token)["']?\s*[:=]\s*["']?)([\w.~+/*-]{8,}=*)/gi;

export function redact(text: string, keys: readonly string[]): string {
  let clean = text;
  for (const key of keys) if (key.length >= MIN_KEY_CHARS) clean = clean.replaceAll(key, MASK);
  for (const pattern of LOOKS_LIKE_KEY) clean = clean.replaceAll(pattern, MASK);
  return clean.replaceAll(NAMED_KEY, (_, name: string) => `${name}${MASK}`);
}
