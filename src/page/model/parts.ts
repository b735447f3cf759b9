// Pieces of content as the page shows them, made from ACP blocks and from blocks of a journal.
import { isObject, type JsonObject, type JsonValue, objectAt, textAt } from "../wire/json.js";

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "diff"; readonly path: string; readonly before: string; readonly after: string }
  /** As base64, of a type that cannot carry code. */
  | { readonly kind: "image"; readonly mimeType: string; readonly data: string }
  | { readonly kind: "link"; readonly uri: string; readonly name: string };

/** SVG is left out: it can carry code, and styles that are not the page's. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/u;

/** Long texts and media of a journal are records of their own, named by a hash. */
export type Blobs = ReadonlyMap<string, string>;

/** A content block of ACP, or of a journal. */
export function partOf(block: JsonValue | undefined, blobs?: Blobs): Part {
  const type = textAt(block, "type");
  switch (type) {
    case "text":
      return { kind: "text", text: textAt(block, "text") ?? "" };
    case "image": {
      const [mimeType = "", data = ""] = [textAt(block, "mimeType"), textAt(block, "data")];
      if (PICTURES.has(mimeType) && BASE64.test(data)) return { kind: "image", mimeType, data };
      return { kind: "text", text: `(a picture of the type ${mimeType || "unknown"})` };
    }
    case "audio":
      return { kind: "text", text: `(sound of the type ${textAt(block, "mimeType") ?? "unknown"})` };
    case "resource_link":
      return {
        kind: "link",
        uri: textAt(block, "uri") ?? "",
        name: textAt(block, "title") ?? textAt(block, "name") ?? "",
      };
    case "resource":
      return resourcePart(isObject(block) ? block : {});
    case "spilled":
      return {
        kind: "text",
        text: `${textAt(block, "preview") ?? ""}… (kept in a file: ${textAt(block, "path") ?? "?"})`,
      };
    case "unknown":
      return packedPart(objectAt(block, "raw"), blobs);
    default:
      return { kind: "text", text: `(content of the kind ${type ?? "unknown"})` };
  }
}

function resourcePart(block: JsonObject): Part {
  const inner = isObject(block["resource"]) ? block["resource"] : block;
  const uri = textAt(inner, "uri") ?? "";
  const text = textAt(inner, "text");
  return text === undefined ? { kind: "link", uri, name: uri } : { kind: "text", text: `${uri}\n${text}` };
}

function packedPart(raw: JsonObject, blobs: Blobs | undefined): Part {
  const { block, blob } = raw;
  if (!isObject(block)) return { kind: "text", text: "(content of an unknown kind)" };
  if (typeof blob !== "string") return partOf(block, blobs);
  const data = blobs?.get(blob);
  if (data === undefined) return { kind: "text", text: "(a long text or medium)" };
  const field = { text: "text", image: "data", audio: "data" }[textAt(block, "type") ?? ""];
  return partOf({ ...block, [field ?? "text"]: data }, blobs);
}

/** `content` of a tool call of ACP. */
export function callParts(content: JsonValue | undefined): readonly Part[] {
  if (!Array.isArray(content)) return [];
  return content.map((one) => {
    const type = textAt(one, "type");
    if (type === "diff") return diffPart(one);
    if (type === "content") return partOf(isObject(one) ? one["content"] : undefined);
    return { kind: "text", text: "(a terminal of another client)" };
  });
}

export function diffPart(diff: JsonValue | undefined): Part {
  const [path = "", before = "", after = ""] = ["path", "oldText", "newText"].map((name) => textAt(diff, name));
  return { kind: "diff", path, before, after };
}

export function plainText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.kind === "text" ? part.text : [])).join("\n");
}
