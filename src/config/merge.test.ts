// Merging keeps the order of layers and where everything came from.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  configOf,
  LAYER_KINDS,
  type Layer,
  type LayerServer,
  type LayerValue,
  mergeLayers,
  type Place,
  shadowedBy,
  sourced,
  winnerOf,
} from "./layers/read-layer.js";

/** A layer of kind and file, with a server per name and a value per path, each at a line of its own. */
function layer(
  kind: Layer["kind"],
  file: string,
  names: readonly string[],
  values: Readonly<Record<string, string>>,
): Layer {
  const place = (line: number): Place => ({ layer: kind, file, line, column: 1 });
  return {
    kind,
    file,
    servers: names.map(
      (name, index): LayerServer => ({
        name,
        place: place(index + 1),
        definition: { kind: "spec", spec: { kind: "stdio", name, command: file, args: [], env: {} } },
      }),
    ),
    invalid: [],
    values: Object.entries(values).map(
      ([path, value], index): LayerValue => ({ path: path.split("."), value, place: place(100 + index) }),
    ),
    problems: [],
  };
}

const NAMES = ["a", "b", "c", "__proto__", "constructor"];
const PATHS = ["model", "providers.openai.apiKey", "providers.openai.baseUrl", "permissions.mode"];

/** Layers in the order of strength, any of them missing, the project's twice. */
const layers: fc.Arbitrary<readonly Layer[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom(...LAYER_KINDS),
      names: fc.uniqueArray(fc.constantFrom(...NAMES)),
      values: fc.dictionary(fc.constantFrom(...PATHS), fc.string()),
    }),
    { maxLength: 7 },
  )
  .map((given) =>
    given
      .sort((one, other) => LAYER_KINDS.indexOf(one.kind) - LAYER_KINDS.indexOf(other.kind))
      .map(({ kind, names, values }, index) => layer(kind, `file-${index}`, names, values)),
  );

describe("mergeLayers", () => {
  it("lets the strongest layer's entry of a name win whole, and keeps the others in order", () => {
    fc.assert(
      fc.property(layers, (given) => {
        const { servers } = mergeLayers(given);
        for (const name of NAMES) {
          const entries = given.flatMap((one) => one.servers.filter((server) => server.name === name));
          const stack = servers.get(name);
          expect(stack ?? []).toEqual(entries);
          if (!stack) continue;
          expect(winnerOf(stack)).toBe(entries.at(-1));
          expect(shadowedBy(stack)).toEqual(entries.slice(0, -1));
        }
        expect([...servers.keys()].every((name) => NAMES.includes(name))).toBe(true);
      }),
    );
  });

  it("merges values by key, each with the place of the layer that said it last", () => {
    fc.assert(
      fc.property(layers, (given) => {
        const merged = mergeLayers(given);
        for (const path of PATHS.map((text) => text.split("."))) {
          const said = given.flatMap((one) => one.values.filter((value) => value.path.join() === path.join())).at(-1);
          const value = path.reduce<unknown>((inside, step) => Reflect.get(Object(inside), step), configOf(merged));
          expect(value).toEqual(said?.value);
          expect(sourced(merged, path, said?.value)).toEqual(said && { value: said.value, place: said.place });
        }
      }),
    );
  });

  it("keeps the provenance of every entry and value", () => {
    fc.assert(
      fc.property(layers, (given) => {
        const merged = mergeLayers(given);
        const places = [...merged.servers.values()].flat().map(({ place }) => place);
        const all = given.flatMap((one) => one.servers.map(({ place }) => place));
        expect(new Set(places)).toEqual(new Set(all));
        for (const value of merged.values.values()) {
          expect(given.some((one) => one.file === value.place.file && one.values.includes(value))).toBe(true);
        }
      }),
    );
  });

  it("is not changed by an empty layer", () => {
    fc.assert(
      fc.property(layers, fc.nat(7), (given, at) => {
        const empty = layer("project", "empty", [], {});
        expect(mergeLayers([...given.slice(0, at), empty, ...given.slice(at)])).toEqual(mergeLayers(given));
      }),
    );
  });
});
