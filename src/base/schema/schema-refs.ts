// Where a `$ref` leads inside one schema. Nothing is ever fetched: what lies elsewhere stays unknown.
import { isJsonObject, type JsonObject, type JsonValue, valueAtPointer } from "../json/json.js";

/** For schemas whose depth has been checked: it walks them recursively, once. */
export class SchemaRefs {
  readonly #root: JsonObject;
  /** Before 2019 a `$ref` stood for everything beside it. */
  readonly isAlone: boolean;
  readonly #anchors = new Map<string, JsonValue>();
  #hasInnerIds = false;

  constructor(root: JsonObject) {
    this.#root = root;
    this.isAlone = refsStandAlone(root);
    this.#collect(root);
  }

  /** Undefined when it dangles, or leads out of the schema. */
  resolve(ref: string): JsonValue | undefined {
    if (this.#hasInnerIds) return undefined; // then `#` means another place in each part: not worth following
    return refTarget(this.#root, ref, (name) => this.#anchors.get(name));
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

/** Before 2019 a `$ref` stood for everything beside it. */
export function refsStandAlone({ $schema }: JsonObject): boolean {
  return typeof $schema === "string" && /draft-0[3-7]/.test($schema);
}

/** Where a `$ref` leads inside the schema; undefined when it dangles, or leads out of it. */
export function refTarget(
  root: JsonObject,
  ref: string,
  anchored: (name: string) => JsonValue | undefined,
): JsonValue | undefined {
  const { $id } = root;
  const hash = ref.indexOf("#");
  const base = hash < 0 ? ref : ref.slice(0, hash);
  if (base !== "" && base !== (typeof $id === "string" ? $id.replace(/#$/, "") : undefined)) return undefined;
  const fragment = hash < 0 ? "" : decode(ref.slice(hash + 1));
  if (fragment === "") return root;
  return fragment.startsWith("/") ? valueAtPointer(root, fragment) : anchored(fragment);
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
