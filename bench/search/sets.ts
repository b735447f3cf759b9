// Labelled sets of tools and prompts: `tools.jsonl` and `queries.jsonl`, plain or gzipped.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/base/json/json.js";
import type { SearchDocument } from "../../src/tools/search/index-of-tools.js";

export interface LabelledQuery {
  readonly query: string;
  /** What is needed, each by any one of its equivalents. */
  readonly groups: readonly (readonly string[])[];
}

export interface SetFiles {
  readonly name: string;
  readonly tools: string;
  readonly queries: string | undefined;
}

/** The sets in a folder: every folder in it with a `tools.jsonl`. */
export function findSets(folder: string): readonly SetFiles[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const tools = jsonLines(join(folder, name, "tools.jsonl"));
      return tools === undefined ? [] : [{ name, tools, queries: jsonLines(join(folder, name, "queries.jsonl")) }];
    });
}

export function readTools(path: string): readonly SearchDocument[] {
  const tools = readLines(path).map(({ line, place }): SearchDocument => {
    const { id, server, name, title, description, schema } = line;
    if (typeof id !== "string" || typeof name !== "string") throw new Error(`${place}: a tool needs "id" and "name"`);
    return {
      id,
      server: typeof server === "string" ? server : "",
      name,
      ...(typeof title === "string" ? { title } : {}),
      description: typeof description === "string" ? description : "",
      ...(isJsonObject(schema) ? { schema } : {}),
    };
  });
  if (tools.length === 0) throw new Error(`${path}: no tools`);
  return tools;
}

export function readQueries(path: string): readonly LabelledQuery[] {
  return readLines(path).map(({ line, place }) => {
    const { query, relevant, groups } = line;
    const needed = Array.isArray(groups) ? groups.map(texts) : texts(relevant).map((id) => [id]);
    if (typeof query !== "string" || needed.length === 0) {
      throw new Error(`${place}: a query needs "query", and "relevant" or "groups" with ids of tools`);
    }
    return { query, groups: needed };
  });
}

/** For sets without prompts: what people might ask for, from what the tools say they do. Only good for timing. */
export function generateQueries(tools: readonly SearchDocument[], count: number): readonly LabelledQuery[] {
  const step = Math.max(1, Math.floor(tools.length / count));
  return tools
    .filter((_, index) => index % step === 0)
    .slice(0, count)
    .map(({ id, name, description }) => {
      const words = (description || name).split(/\s+/u).slice(0, 25).join(" ");
      return { query: `I have a question about my project. Could you please help me: ${words}`, groups: [[id]] };
    });
}

function jsonLines(path: string): string | undefined {
  return [path, `${path}.gz`].find((file) => existsSync(file));
}

function readLines(path: string): { line: JsonObject; place: string }[] {
  const bytes = readFileSync(path);
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const text = (isZipped ? gunzipSync(bytes) : bytes).toString("utf8");
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const place = `${path}, line ${index + 1}`;
    const parsed = parseJson(line);
    if (!parsed.ok) throw new Error(`${place}: no JSON (${parsed.reason})`);
    if (!isJsonObject(parsed.value)) throw new Error(`${place}: not an object`);
    return [{ line: parsed.value, place }];
  });
}

function texts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((part) => typeof part === "string") : [];
}
