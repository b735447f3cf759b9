// Where a `$ref` leads inside one schema. Nothing is ever fetched: what lies elsewhere stays unknown.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json.js";

/** For schemas whose depth has been checked: it walks them recursively, once. */
export class SchemaRefs {
  readonly #root: JsonObject;
  readonly #rootId: string | undefined;
  /** Before 2019 a `$ref` stood for everything beside it. */
  readonly isAlone: boolean;
  readonly #anchors = new Map<string, JsonValue>();
  #hasInnerIds = false;

  constructor(root: JsonObject) {
    this.#root = root;
    this.#rootId = typeof root["$id"] === "string" ? root["$id"].replace(/#$/, "") : undefined;
    this.isAlone = typeof root["$schema"] === "string" && /draft-0[3-7]/.test(root["$schema"]);
    this.#collect(root);
  }

  /** Undefined when it dangles, or leads out of the schema. */
  resolve(ref: string): JsonValue | undefined {
    if (this.#hasInnerIds) return undefined; // then `#` means another place in each part: not worth following
    const hash = ref.indexOf("#");
    const base = hash < 0 ? ref : ref.slice(0, hash);
    if (base !== "" && base !== this.#rootId) return undefined;
    const fragment = hash < 0 ? "" : decode(ref.slice(hash + 1));
    if (fragment === "") return this.#root;
    return fragment.startsWith("/") ? this.#pointer(fragment) : this.#anchors.get(fragment);
  }

  #pointer(pointer: string): JsonValue | undefined {
    let at: JsonValue | undefined = this.#root;
    for (const part of pointer.slice(1).split("/")) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
      at = isJsonObject(at) ? at[key] : at[Number(key)];
    }
    return at;
  }

  #collect(node: JsonValue | undefined): void {
    if (typeof node !== "object" || node === null) return;
    if (!isJsonObject(node)) {
      for (const item of node) this.#collect(item);
      return;
    }
    const { $anchor, $id } = node;
    if (typeof $anchor === "string") this.#anchors.set($anchor, node);
    if (typeof $id === "string" && node !== this.#root) this.#hasInnerIds = true;
    for (const key in node) this.#collect(node[key]);
  }
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
