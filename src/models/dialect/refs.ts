// Where a `$ref` leads inside one schema. Nothing is ever fetched: what lies elsewhere stays unknown.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";

const MAX_REF_CHARS = 2_000;

export interface Refs {
  /** Undefined when it dangles, or leads out of the schema. */
  resolve(ref: string): JsonValue | undefined;
  /** Before 2019 a `$ref` stood for everything beside it. */
  readonly isAlone: boolean;
}

export function refsOf(root: JsonObject): Refs {
  const { $id, $schema } = root;
  const rootId = typeof $id === "string" ? $id.replace(/#$/, "") : undefined;
  return {
    isAlone: typeof $schema === "string" && /draft-0[3-7]/.test($schema),
    resolve(ref) {
      if (ref.length > MAX_REF_CHARS) return undefined;
      const hash = ref.indexOf("#");
      const base = hash < 0 ? ref : ref.slice(0, hash);
      if (base !== "" && base !== rootId) return undefined;
      const fragment = hash < 0 ? "" : decode(ref.slice(hash + 1));
      if (fragment === "") return root;
      return fragment.startsWith("/") ? pointed(root, fragment) : anchored(root, fragment);
    },
  };
}

function pointed(root: JsonObject, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const part of pointer.slice(1).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = isJsonObject(at) ? at[key] : at[Number(key)];
  }
  return at;
}

/** Anchors are looked for where generators put them: among the definitions. */
function anchored(root: JsonObject, name: string): JsonValue | undefined {
  for (const place of [root["$defs"], root["definitions"]]) {
    if (!isJsonObject(place)) continue;
    for (const key of Object.keys(place)) {
      const entry = place[key];
      if (isJsonObject(entry) && (entry["$anchor"] === name || entry["$dynamicAnchor"] === name)) return entry;
    }
  }
  return undefined;
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
