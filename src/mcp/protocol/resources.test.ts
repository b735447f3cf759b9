// Resources, templates, prompts and completions of any shape are read, and failures say what they are.
import { describe, expect, it } from "vitest";
import { type Answer, type Ask, FakeLink } from "../../../test/fake-link.js";
import type { JsonObject } from "../../base/json/json.js";
import { fakeWorld } from "../../testing/index.js";
import {
  complete,
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
} from "./prompts-and-resources.js";

const signal = new AbortController().signal;

function setUp(answer: (ask: Ask) => Answer) {
  const world = fakeWorld();
  return { world, link: new FakeLink(world, { answer }) };
}

function answers(result: JsonObject) {
  return setUp(() => ({ result }));
}

const notFound: Answer = { error: { code: -32601, message: "Method not found" } };

describe("resources", () => {
  it("are listed page by page, the malformed set aside", async () => {
    const { world, link } = setUp(({ params }) => ({
      result:
        params["cursor"] === undefined
          ? {
              resources: [{ uri: "file:///a", name: "a", mimeType: "text/plain", size: 3 }, { name: "b" }, 7],
              nextCursor: "2",
            }
          : { resources: [{ uri: "file:///c", title: "C", description: "d", size: "large" }] },
    }));
    expect(await listResources(link, world, signal)).toEqual({
      items: [
        { uri: "file:///a", name: "a", mimeType: "text/plain", size: 3 },
        { uri: "file:///c", name: "file:///c", title: "C", description: "d" },
      ],
      problems: ['resource "b" is left out: it has no uri', 'resource "?" is left out: the entry is not an object'],
      leftOut: [
        expect.objectContaining({ name: "b", reason: "it has no uri" }),
        expect.objectContaining({ name: "?" }),
      ],
    });
  });

  it("have templates, and a server that declares resources but knows none has an empty list", async () => {
    const some = answers({ resourceTemplates: [{ uriTemplate: "db://{table}", name: "table" }] });
    expect((await listResourceTemplates(some.link, some.world, signal)).items).toEqual([
      { uriTemplate: "db://{table}", name: "table" },
    ]);
    const none = setUp(() => notFound);
    expect(await listResourceTemplates(none.link, none.world, signal)).toEqual({ items: [], problems: [] });
  });

  it("are read as blocks, the request naming its uri for the wire", async () => {
    const { link } = answers({
      contents: [
        { uri: "file:///a", text: "t" },
        { uri: "file:///a", blob: "aGk=" },
      ],
    });
    expect(await readResource(link, "file:///a%20b", { signal })).toEqual([
      { type: "resource", uri: "file:///a", text: "t" },
      { type: "resource", uri: "file:///a", blob: "aGk=" },
    ]);
    expect(link.asked).toMatchObject([
      { method: "resources/read", params: { uri: "file:///a%20b" }, hint: { name: "file:///a%20b" } },
    ]);
  });

  it("that cannot be read say why", async () => {
    const missing = setUp(() => ({ error: { code: -32002, message: "Resource not found" } }));
    await expect(readResource(missing.link, "x:y", { signal })).rejects.toMatchObject({
      code: "mcp.call_failed",
      message: "resource x:y: the server answered with error -32002: Resource not found",
    });
    const silent = setUp(() => undefined);
    const reading = readResource(silent.link, "x:y", { signal, timeoutMs: 500 }).catch((error: unknown) => error);
    await silent.world.advance(500);
    expect(await reading).toMatchObject({
      code: "mcp.call_timeout",
      message: "resource x:y: no answer within 0.5 s",
    });
  });
});

describe("prompts", () => {
  it("are listed with their arguments", async () => {
    const { world, link } = answers({
      prompts: [
        { name: "p", title: "P", arguments: [{ name: "a", required: true }, { name: "b", description: "d" }, 7, {}] },
        { name: "q", description: "d", arguments: null },
        { title: "nameless" },
      ],
    });
    expect(await listPrompts(link, world, signal)).toEqual({
      items: [
        {
          name: "p",
          title: "P",
          description: "",
          arguments: [
            { name: "a", isRequired: true },
            { name: "b", description: "d", isRequired: false },
          ],
        },
        { name: "q", description: "d", arguments: [] },
      ],
      problems: ['prompt "?" is left out: it has no name'],
      leftOut: [expect.objectContaining({ name: "?", reason: "it has no name" })],
    });
  });

  it("are fetched as messages, single blocks and lists alike", async () => {
    const { link } = answers({
      description: "d",
      messages: [
        { role: "user", content: { type: "text", text: "hello" } },
        { role: "assistant", content: [{ type: "text", text: "a" }, { type: "new" }] },
        { role: "strange", content: "bare" },
        7,
      ],
    });
    expect(await getPrompt(link, "p", { a: "1" }, { signal })).toEqual({
      description: "d",
      messages: [
        { role: "user", content: [{ type: "text", text: "hello" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "a" },
            { type: "unknown", kind: "new", raw: { type: "new" } },
          ],
        },
        { role: "user", content: [{ type: "text", text: "bare" }] },
        { role: "user", content: [{ type: "unknown", kind: "number", raw: 7 }] },
      ],
    });
    expect(link.asked).toMatchObject([
      { method: "prompts/get", params: { name: "p", arguments: { a: "1" } }, hint: { name: "p" } },
    ]);
  });

  it("that the server refuses say why", async () => {
    const { link } = setUp(() => ({ error: { code: -32602, message: "no such prompt" } }));
    await expect(getPrompt(link, "p", {}, { signal })).rejects.toThrow(
      "prompt p: the server answered with error -32602",
    );
  });
});

describe("complete", () => {
  const request = { target: { kind: "prompt", name: "p" }, argument: { name: "a", value: "x" } } as const;

  it("asks for a prompt's argument or a template's, with what is filled in already", async () => {
    const { link } = answers({ completion: { values: ["x1", 2, "x3"], total: 9, hasMore: true } });
    expect(await complete(link, { ...request, given: { b: "1" } }, { signal })).toEqual({
      values: ["x1", "x3"],
      total: 9,
      hasMore: true,
    });
    await complete(
      link,
      { target: { kind: "resource", uri: "db://{t}" }, argument: { name: "t", value: "" } },
      { signal },
    );
    expect(link.asked.map(({ params }) => params)).toMatchObject([
      {
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "a", value: "x" },
        context: { arguments: { b: "1" } },
      },
      { ref: { type: "ref/resource", uri: "db://{t}" }, argument: { name: "t", value: "" } },
    ]);
  });

  it("offers nothing when the server has nothing, or fails", async () => {
    expect(await complete(setUp(() => notFound).link, request, { signal })).toEqual({ values: [], hasMore: false });
    expect(await complete(answers({}).link, request, { signal })).toEqual({ values: [], hasMore: false });
  });
});
