// The published JSON Schema is current, describes every key, and takes what the reader takes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isJsonObject } from "../base/json/json.js";
import { check, configFile, configJsonSchema, stdioEntry } from "./layers/schema.js";

const PUBLISHED = join(import.meta.dirname, "..", "..", "schema", "config.schema.json");

/** Every property of every object of a JSON Schema: its path and its definition. */
function properties(schema: unknown, path = ""): { readonly path: string; readonly definition: unknown }[] {
  if (Array.isArray(schema)) return schema.flatMap((part) => properties(part, path));
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key !== "properties" || !isJsonObject(value)) return properties(value, path);
    return Object.entries(value).flatMap(([name, definition]) => [
      { path: `${path}.${name}`, definition },
      ...properties(definition, `${path}.${name}`),
    ]);
  });
}

describe("check", () => {
  it("takes unknown keys out in one pass: a file may have tens of thousands", () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key${at}`, at]));
    const { kept, findings } = check(stdioEntry, { command: "x", ...many, tools: { a: { ...many, timeoutMs: 5 } } });
    expect(kept).toEqual({ command: "x", tools: { a: { timeoutMs: 5 } } });
    expect(findings).toHaveLength(40_000);
  });
});

describe("schema/config.schema.json", () => {
  it("is what scripts/config-schema.ts writes; run it after a change", () => {
    const published: unknown = JSON.parse(readFileSync(PUBLISHED, "utf8"));
    expect(published).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it("describes every key", () => {
    const all = properties(configJsonSchema());
    expect(all.length).toBeGreaterThan(40);
    const silent = all.filter(({ definition }) => !isJsonObject(definition) || !definition["description"]);
    // Names of providers and the one type of auth say all there is to say.
    expect(silent.map(({ path }) => path).filter((path) => !/\.auth\.type$|\.providers\.[a-z-]+$/u.test(path))).toEqual(
      [],
    );
  });

  it("takes a file with everything in it", () => {
    const file = {
      $schema: "./config.schema.json",
      model: "offline/operator",
      mcpServers: { a: { command: "x", tools: { t: { include: "always" } } }, b: { type: "sse", url: "https://b" } },
      permissions: { mode: "plan", allowBypass: false },
      trust: { projects: "ask" },
      providers: { "openai-compatible": { baseUrl: "http://127.0.0.1:11434/v1" } },
      allowHosts: ["intranet"],
      sandbox: { project: "workspace" },
      import: ["zed"],
    };
    expect(configFile.safeParse(file).error).toBeUndefined();
    expect(configFile.safeParse({ ...file, mcpservers: {} }).error).toBeDefined();
  });
});
