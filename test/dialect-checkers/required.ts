// Whether a compiled schema still asks for every field its original requires, wherever the original can be followed by plain paths.
import { type Data, isData, requiredOf } from "./walk.js";

/** The paths of required fields that were lost; `nameOf` gives the name a field goes by in the compiled schema. */
export function lostRequired(raw: unknown, compiled: unknown, nameOf = (name: string): string => name): string[] {
  const lost: string[] = [];
  compare(raw, alternatives(compiled), { root: raw, path: "", depth: 0, open: [], nameOf, lost });
  return lost;
}

interface Walk {
  readonly root: unknown;
  readonly path: string;
  readonly depth: number;
  readonly open: readonly unknown[];
  readonly nameOf: (name: string) => string;
  readonly lost: string[];
}

function compare(schema: unknown, forms: readonly Data[], walk: Walk): void {
  const raw = followed(schema, walk.root);
  if (!isData(raw) || walk.open.includes(raw) || walk.depth > 8) return;
  const open = [...walk.open, raw];
  const branches = [raw["anyOf"], raw["oneOf"]].filter((list) => Array.isArray(list));
  // What only some alternatives require is no requirement of the whole, so only schemas without them are compared.
  for (const name of branches.length > 0 ? [] : requiredOf(raw)) {
    const key = walk.nameOf(String(name));
    const isKept = forms.some((form) => requiredOf(form).includes(key));
    if (!isKept) walk.lost.push(`${walk.path}/${String(name)}`);
  }
  const properties = isData(raw["properties"]) ? raw["properties"] : {};
  for (const name of Object.keys(properties)) {
    const inner = forms.flatMap((form) => {
      const found = isData(form["properties"]) ? form["properties"][walk.nameOf(name)] : undefined;
      return alternatives(found);
    });
    compare(properties[name], inner, { ...walk, open, depth: walk.depth + 1, path: `${walk.path}/${name}` });
  }
  if (isData(raw["items"])) {
    const inner = forms.flatMap((form) => alternatives(form["items"]));
    compare(raw["items"], inner, { ...walk, open, depth: walk.depth + 1, path: `${walk.path}/*` });
  }
}

function followed(schema: unknown, root: unknown): unknown {
  let at = schema;
  for (let step = 0; step < 8 && isData(at) && typeof at["$ref"] === "string"; step++) {
    const parts = at["$ref"].split("/").slice(1);
    at = parts.reduce<unknown>((place, part) => (isData(place) ? place[decodeURIComponent(part)] : undefined), root);
  }
  return at;
}

/** A compiled schema and every form in it. */
function alternatives(schema: unknown): Data[] {
  if (!isData(schema)) return [];
  const forms = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [];
  return [schema, ...forms.flatMap((form) => alternatives(form))];
}
