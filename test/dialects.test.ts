// Real tool lists in every dialect, as compiled and as they go over the wire, before checkers that know the providers only.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "vitest";
import type { JsonSchema } from "../src/base/json/json.js";
import {
  aiSdkModel,
  compileSchema,
  compileTools,
  type DialectName,
  loadModel,
  type Model,
} from "../src/models/index.js";
import { anthropicFaults } from "./dialect-checkers/anthropic.js";
import { geminiFaults } from "./dialect-checkers/gemini.js";
import { openaiFaults } from "./dialect-checkers/openai.js";
import { openaiCompatibleFaults } from "./dialect-checkers/openai-compatible.js";
import { lostRequired } from "./dialect-checkers/required.js";
import { isData } from "./dialect-checkers/walk.js";

type Checker = (schema: unknown, options?: { readonly strict?: boolean }) => string[];

interface ListedTool {
  readonly server: string;
  readonly name: string;
  readonly inputSchema: JsonSchema;
}

const FOLDER = join(import.meta.dirname, "fixtures", "tool-lists");

const CHECKERS: Readonly<Record<Exclude<DialectName, "plain">, Checker>> = {
  anthropic: anthropicFaults,
  "openai-chat": openaiFaults,
  "openai-responses": openaiFaults,
  gemini: (schema) => geminiFaults(isData(schema) && "properties" in schema ? schema : undefined),
  "openai-compatible": openaiCompatibleFaults,
};

const LISTS = readdirSync(FOLDER).map((file): { server: string; tools: readonly ListedTool[] } => {
  const listed: unknown = JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
  const server = file.replace(/\.json$/, "");
  const tools = (Array.isArray(listed) ? listed : []).map((tool) => ({ ...tool, server }));
  return { server, tools };
});

const DIALECTS = ["anthropic", "openai-chat", "openai-responses", "gemini", "openai-compatible"] as const;

const FORMS = DIALECTS.flatMap((dialect) => {
  return [false, true].map((strict) => ({ dialect, check: CHECKERS[dialect], strict }));
});

test("the lists are there", () => {
  expect(LISTS.length).toBeGreaterThanOrEqual(18);
  expect(LISTS.flatMap(({ tools }) => tools).length).toBeGreaterThan(200);
});

describe.each(FORMS)("for $dialect (strict: $strict)", ({ dialect, check, strict }) => {
  test.each(LISTS)("every tool of $server compiles, passes the checker and keeps its required fields", ({ tools }) => {
    for (const tool of tools) {
      const form = compileSchema(tool.inputSchema, dialect, { strict });
      if (!form.ok) throw new Error(`${tool.name}: ${form.reason}`);
      expect(check(form.schema, { strict: form.strict ?? false }), tool.name).toEqual([]);
      expect(lostRequired(tool.inputSchema, form.schema), tool.name).toEqual([]);
    }
  });
});

test("most real tools have a strict form, and the others say why not where it is required", () => {
  for (const dialect of ["openai-responses", "anthropic"] as const) {
    const forms = LISTS.flatMap(({ tools }) => tools).map(({ inputSchema }) =>
      compileSchema(inputSchema, dialect, { strict: true }),
    );
    const strict = forms.filter((form) => form.ok && form.strict === true);
    expect(strict.length / forms.length).toBeGreaterThan(0.85);
    const reasons = LISTS.flatMap(({ tools }) => tools).flatMap(({ inputSchema }) => {
      const form = compileSchema(inputSchema, dialect, { strict: "required" });
      return form.ok ? [] : [form.reason];
    });
    expect(reasons).toHaveLength(forms.length - strict.length);
    for (const reason of reasons) expect(reason).toMatch(/no strict form: (?:it|some of|strict tools) .+/);
  }
});

describe("over the wire, through the adapters", () => {
  let body: unknown;
  const capture = async (_url: unknown, init?: RequestInit): Promise<Response> => {
    body = JSON.parse(String(init?.body));
    return new Response('{"error":{"message":"stop here"}}', { status: 400 });
  };
  const load = (id: string) =>
    loadModel(id, {
      env: {
        ANTHROPIC_API_KEY: "k",
        OPENAI_API_KEY: "k",
        GEMINI_API_KEY: "k",
        TENON_BASE_URL: "http://127.0.0.1:9/v1",
      },
      fetch: capture,
    });

  const sent = async (model: Model, strict: boolean): Promise<unknown> => {
    const tools = LISTS.flatMap((list) => list.tools).map(({ server, name, inputSchema }) => {
      return { name: `${server}_${name}`.slice(0, 64), description: "A tool.", inputSchema, strict };
    });
    const compiled = compileTools(tools, model);
    expect(compiled.refused).toEqual([]);
    const request = { system: "", messages: [{ role: "user" as const, content: [] }], tools: compiled.tools };
    body = undefined;
    const drain = async () => {
      for await (const _ of model.stream(request, new AbortController().signal));
    };
    await expect(drain()).rejects.toThrow(/400|stop here/);
    return body;
  };

  const toolsIn = (value: unknown): readonly unknown[] =>
    isData(value) && Array.isArray(value["tools"]) ? value["tools"] : [];

  test.each([false, true])("Anthropic gets what it takes (strict: %s)", async (strict) => {
    const tools = toolsIn(await sent(await load("anthropic/claude-sonnet-5-5"), strict));
    expect(tools.length).toBeGreaterThan(200);
    for (const tool of tools) {
      if (!isData(tool)) throw new Error("no tool");
      expect(anthropicFaults(tool["input_schema"], { strict: tool["strict"] === true })).toEqual([]);
    }
    const strictTools = tools.filter((tool) => isData(tool) && tool["strict"] === true);
    expect(strictTools.length).toBeLessThanOrEqual(20);
    expect(strictTools.length > 0).toBe(strict);
  });

  test.each([false, true])(
    "OpenAI's Responses API gets what it takes, with strict said in every case (strict: %s)",
    async (strict) => {
      const tools = toolsIn(await sent(await load("openai/gpt-6.1-sol"), strict));
      expect(tools.length).toBeGreaterThan(200);
      for (const tool of tools) {
        if (!isData(tool)) throw new Error("no tool");
        expect(tool["strict"]).toBeTypeOf("boolean");
        expect(openaiFaults(tool["parameters"], { strict: tool["strict"] === true })).toEqual([]);
      }
      expect(tools.some((tool) => isData(tool) && tool["strict"] === true)).toBe(strict);
    },
  );

  test.each([false, true])("OpenAI's chat API gets what it takes (strict: %s)", async (strict) => {
    const provider = createOpenAI({ apiKey: "k", fetch: capture });
    const model = aiSdkModel("openai/gpt-6.1-sol", provider.chat("gpt-6.1-sol"), { dialect: "openai-chat" });
    const tools = toolsIn(await sent(model, strict));
    expect(tools.length).toBeGreaterThan(200);
    for (const tool of tools) {
      if (!isData(tool) || !isData(tool["function"])) throw new Error("no tool");
      const { parameters, strict: isStrict } = tool["function"];
      expect(openaiFaults(parameters, { strict: isStrict === true })).toEqual([]);
    }
  });

  test("Gemini gets what it takes, after the adapter has rewritten the schemas once more", async () => {
    const [tools] = toolsIn(await sent(await load("google/gemini-pro-latest"), false));
    if (!isData(tools) || !Array.isArray(tools["functionDeclarations"])) throw new Error("no declarations");
    expect(tools["functionDeclarations"].length).toBeGreaterThan(200);
    for (const declaration of tools["functionDeclarations"]) {
      expect(declaration).not.toHaveProperty("parametersJsonSchema");
      expect(geminiFaults(declaration["parameters"]), declaration["name"]).toEqual([]);
    }
  });

  test("a server of OpenAI's protocol gets what it takes", async () => {
    const tools = toolsIn(await sent(await load("openai-compatible/local"), false));
    expect(tools.length).toBeGreaterThan(200);
    for (const tool of tools) {
      if (!isData(tool) || !isData(tool["function"])) throw new Error("no tool");
      expect(openaiCompatibleFaults(tool["function"]["parameters"])).toEqual([]);
    }
  });
});
