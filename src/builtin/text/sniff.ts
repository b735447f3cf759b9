// What the first bytes of a file say it is: an image models can see, text, or something neither.

export type Sniffed =
  | { readonly kind: "text" }
  | { readonly kind: "image"; readonly mimeType: string }
  | { readonly kind: "binary"; readonly what: string };

interface Signature {
  readonly bytes: readonly (number | undefined)[];
  readonly sniffed: Sniffed;
}

const ascii = (text: string): number[] => [...Buffer.from(text, "latin1")];
const anything = (count: number): undefined[] => Array.from({ length: count }, () => undefined);
const image = (mimeType: string): Sniffed => ({ kind: "image", mimeType });
const binary = (what: string): Sniffed => ({ kind: "binary", what });

/** Images are those every provider takes. */
const SIGNATURES: readonly Signature[] = [
  { bytes: [0x89, ...ascii("PNG\r\n"), 0x1a, 0x0a], sniffed: image("image/png") },
  { bytes: [0xff, 0xd8, 0xff], sniffed: image("image/jpeg") },
  { bytes: ascii("GIF87a"), sniffed: image("image/gif") },
  { bytes: ascii("GIF89a"), sniffed: image("image/gif") },
  { bytes: [...ascii("RIFF"), ...anything(4), ...ascii("WEBP")], sniffed: image("image/webp") },
  { bytes: ascii("%PDF-"), sniffed: binary("a PDF") },
  { bytes: [0x1f, 0x8b], sniffed: binary("gzip data") },
  { bytes: [0xff, 0xfe], sniffed: binary("UTF-16 text") },
  { bytes: [0xfe, 0xff], sniffed: binary("UTF-16 text") },
];

export function sniff(start: Uint8Array): Sniffed {
  const known = SIGNATURES.find(({ bytes }) => bytes.every((byte, at) => byte === undefined || byte === start[at]));
  if (known && start.length >= known.bytes.length) return known.sniffed;
  return start.includes(0) ? binary("binary data") : { kind: "text" };
}
