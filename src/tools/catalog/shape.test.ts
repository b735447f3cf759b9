// Shaping changes what the model sees, never what the server is called with by name.
import fc from "fast-check";
import { expect, test } from "vitest";
import { testSource, testTool } from "../../../test/tool-source.js";
import type { ToolDefinition } from "../tool.js";
import { callArguments } from "./offer.js";
import { SessionCatalog } from "./session-catalog.js";
import { type SourceSettings, shapedSchema, type ToolTransformer } from "./shape.js";

function shaped(
  tools: readonly (string | ToolDefinition)[],
  settings: SourceSettings,
  transformers: ToolTransformer[] = [],
) {
  const catalog = new SessionCatalog({ transformers });
  catalog.add(testSource("s", tools), settings);
  return catalog.offer();
}

const search = testTool("search", {
  inputSchema: {
    type: "object",
    properties: { q: { type: "string" }, repo: { type: "string" }, page: { type: "integer" } },
    required: ["q", "repo", "page"],
  },
});

test("allow and deny decide by the server's own names, deny being stronger", () => {
  const offer = shaped(["read_a", "read_b", "write"], { allow: ["read_*"], deny: ["*_b"] });
  expect(offer.tools.map(({ id }) => id)).toEqual(["mcp__s__read_a"]);
  expect(offer.find("mcp__s__write")).toBeUndefined();
});

test("a renamed, prefixed or described tool is still called by its server's name", () => {
  const offer = shaped(["one", "two"], { prefix: "my_", tools: { two: { name: "zwei", description: "Deux." } } });
  expect(offer.tools.map(({ id, definition }) => [id, definition.description])).toEqual([
    ["mcp__s__my_one", "Does one."],
    ["mcp__s__zwei", "Deux."],
  ]);
  expect(offer.find("mcp__s__zwei")?.raw.name).toBe("two");
});

test("pinned arguments are not shown and always sent; defaults are optional and sent when nothing is given", () => {
  const offer = shaped([search], { tools: { search: { arguments: { repo: "x/y" }, defaults: { page: 1 } } } });
  const entry = offer.find("mcp__s__search");
  expect(entry?.tool.definition.inputSchema).toEqual({
    type: "object",
    properties: { q: { type: "string" }, page: { type: "integer", default: 1 } },
    required: ["q"],
  });
  expect(entry?.raw).toBe(search);
  if (!entry) throw new Error("not there");
  expect(callArguments(entry, { q: "a" })).toEqual({ q: "a", repo: "x/y", page: 1 });
  expect(callArguments(entry, { q: "a", repo: "evil", page: 2 })).toEqual({ q: "a", repo: "x/y", page: 2 });
});

test("no pinned argument is ever shown, and nothing else of a schema is lost", () => {
  const name = fc.stringMatching(/^[a-z_]{1,6}$/);
  fc.assert(
    fc.property(
      fc.uniqueArray(name, { maxLength: 6 }),
      fc.uniqueArray(name, { maxLength: 4 }),
      (properties, pinned) => {
        const schema = {
          type: "object",
          $defs: { x: {} },
          properties: Object.fromEntries(properties.map((property) => [property, { type: "string" }])),
          required: properties,
        };
        const values = Object.fromEntries(pinned.map((property) => [property, 1]));
        const shown = shapedSchema(schema, values, {});
        const kept = properties.filter((property) => !pinned.includes(property));
        expect(shown["$defs"]).toEqual({ x: {} });
        expect(Object.keys(shown["properties"] ?? {})).toEqual(kept);
        expect(shown["required"] ?? []).toEqual(kept);
      },
    ),
  );
});

test("options for a provider are passed on with the tool, and do not change what an approval is bound to", () => {
  const [plain] = shaped(["t"], {}).tools;
  const [strict] = shaped(["t"], { tools: { t: { providerOptions: { openai: { strict: true } } } } }).tools;
  expect(strict?.definition.providerOptions).toEqual({ openai: { strict: true } });
  expect(strict?.definitionHash).toBe(plain?.definitionHash);
});

test("code may rename, re-schema and leave out, and sees what configuration made of the tool", () => {
  const seen: string[] = [];
  const offer = shaped(["a", "b"], { prefix: "p_" }, [
    {
      transform: (tool, { source, ownName }) => {
        seen.push(`${source}/${ownName}=${tool.name}`);
        return ownName === "b" ? null : { ...tool, name: "c", inputSchema: { type: "object", properties: {} } };
      },
    },
    { transform: (tool) => ({ ...tool, description: `${tool.name}!` }) },
  ]);
  expect(seen).toEqual(["s/a=p_a", "s/b=p_b"]);
  expect(offer.tools).toMatchObject([{ id: "mcp__s__c", definition: { description: "c!" } }]);
  expect(offer.find("mcp__s__c")?.raw.name).toBe("a");
});

test("any change of what the server says changes the hash, any other does not", () => {
  const hash = (tool: ToolDefinition, settings: SourceSettings = {}) =>
    shaped([tool], settings).tools[0]?.definitionHash;
  const before = hash(search);
  expect(hash({ ...search })).toBe(before);
  expect(hash(search, { prefix: "x", tools: { search: { description: "Other." } } })).toBe(before);
  expect(hash({ ...search, description: "Other." })).not.toBe(before);
  expect(hash({ ...search, title: "T" })).not.toBe(before);
  expect(hash({ ...search, annotations: { readOnlyHint: true } })).not.toBe(before);
  expect(hash({ ...search, outputSchema: { type: "object" } })).not.toBe(before);
});

test("words that do not show are marked wherever the model reads them, names and values of the schema too", () => {
  const hidden = "\u{e0041}b\u202ec";
  const schema = (words: string) => ({
    type: "object",
    properties: {
      [words]: { type: "string", description: words, enum: [words, "plain"], default: words, examples: [words] },
      default: { description: words, const: words, $comment: words },
    },
    required: [words],
    $defs: { [words]: { type: "object", default: { [words]: [words] } } },
    dependentRequired: { [words]: [words] },
    anyOf: [{ title: words }, { required: ["p"] }, { $ref: `#/$defs/${words}` }],
    "x-other": words,
  });
  const inputSchema = { ...schema(hidden), pattern: hidden, patternProperties: { [hidden]: {}, "^a": {} } };
  const tool = testTool("t", { title: hidden, description: `a ${hidden}`, inputSchema });
  const entry = shaped([tool, search], {}).find("mcp__s__t");
  const marked = "\\u{E0041}b\\u{202E}c";
  expect(entry?.tool).toMatchObject({
    label: `s / ${marked}`,
    definition: { title: marked, description: `a ${marked}` },
  });
  // What a regular expression means cannot be marked: it is left out, and the server's own schema is what is checked.
  expect(entry?.tool.definition.inputSchema).toEqual({ ...schema(marked), patternProperties: { "^a": {} } });
  expect(entry?.raw).toBe(tool);
  expect(shaped([search], {}).tools[0]?.definition).toBe(search);
});

test("what a model writes by a marked schema reaches the server under its own names and values", () => {
  const inputSchema = {
    type: "object",
    properties: {
      "a\u200bb": { type: "array", items: { type: "object", properties: { "[tenon: x]": { enum: ["\r\n", "\n"] } } } },
      "a\\u{200B}b": { type: "string" },
    },
  };
  const tool = shaped([testTool("t", { inputSchema })], {}).find("mcp__s__t")?.tool;
  const names = Object.keys(Object(tool?.definition.inputSchema["properties"]));
  expect(names).toEqual(["a\\u{200B}b", "a\\u{5C}u{200B}b"]);
  const written = {
    "a\\u{200B}b": [{ "\\u{5B}tenon: x]": "\\u{D}\n" }, { "\\u{5B}tenon: x]": "\n" }],
    "a\\u{5C}u{200B}b": "kept \\u{200B}",
  };
  expect(tool?.toOwn?.(written)).toEqual({
    "a\u200bb": [{ "[tenon: x]": "\r\n" }, { "[tenon: x]": "\n" }],
    "a\\u{200B}b": "kept \\u{200B}",
  });
  const plain = shaped([search], {}).tools[0];
  expect(plain?.toOwn?.(written)).toBe(written);
});
