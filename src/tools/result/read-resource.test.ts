// Resources as a tool: there once a server has any, listed and read, one failing server costing the others nothing.
import { expect, test } from "vitest";
import { type Answer, type Ask, FakeLink } from "../../../test/fake-link.js";
import { Cell } from "../../base/async/cell.js";
import type { JsonObject } from "../../base/json/json.js";
import type { ConnectionState } from "../../mcp/index.js";
import { fakeWorld } from "../../testing/index.js";
import { ResourceSource } from "./read-resource.js";

const signal = new AbortController().signal;
const world = fakeWorld();

function server(name: string, answer: (ask: Ask) => Answer, capabilities: JsonObject = { resources: {} }) {
  const state = new Cell<ConnectionState>({ kind: "idle" });
  let link: FakeLink | undefined;
  return {
    spec: { kind: "stdio", name, command: "x", args: [], env: {} } as const,
    state,
    get link() {
      return link;
    },
    connect: () => {
      link = new FakeLink(world, { answer, capabilities });
      state.set({ kind: "connecting", attempt: 1, sinceMs: 0 });
    },
  };
}

const docs = ({ method }: Ask): Answer => {
  if (method === "resources/list") {
    return {
      result: {
        resources: [{ uri: "doc://a", name: "A", description: "First\u202e line.\nMore.", mimeType: "text/plain" }],
      },
    };
  }
  if (method === "resources/templates/list")
    return { result: { resourceTemplates: [{ uriTemplate: "doc://{id}", name: "any" }] } };
  return { result: { contents: [{ uri: "doc://a", text: "hello" }] } };
};
const broken = (): Answer => ({ error: { code: -32_000, message: "on fire" } });

function setUp(...servers: ReturnType<typeof server>[]) {
  const source = new ResourceSource(world);
  source.setConnections(servers);
  const call = (args: JsonObject, callSignal = signal) =>
    source.call({ tool: "tenon_read_resource", arguments: args, signal: callSignal, onProgress: () => {} });
  return { source, call };
}

test("the tool is there once a connected server has resources, and stays", () => {
  const plain = server("plain", docs, { tools: {} });
  const late = server("late", docs);
  const { source } = setUp(plain, late);
  plain.connect();
  expect(source.tools.value).toEqual([]);
  late.connect();
  expect(source.tools.value.map(({ name }) => name)).toEqual(["tenon_read_resource"]);
  source.setConnections([]);
  expect(source.tools.value).toHaveLength(1);
});

test("a resource is read by server and uri, or by uri alone where one server has resources", async () => {
  const one = server("one", docs);
  one.connect();
  const { call } = setUp(one);
  const content = [{ type: "resource", uri: "doc://a", text: "hello" }];
  expect(await call({ server: "one", uri: "doc://a" })).toEqual({ kind: "done", content });
  expect(await call({ uri: "doc://a" })).toEqual({ kind: "done", content });
});

test("resources and templates are listed, one line each, and a server that fails costs only its own part", async () => {
  const [one, two] = [server("one", docs), server("two", broken)];
  one.connect();
  two.connect();
  const { call } = setUp(one, two);
  expect(await call({})).toMatchObject({
    kind: "done",
    content: [
      {
        text: [
          "one: 2 resources",
          "- doc://a [text/plain] A: First\\u{202E} line. More.",
          "- doc://{id} any (template)",
          "",
          "two: the resources could not be listed: resources/list: the server answered with error -32000: on fire",
        ].join("\n"),
      },
    ],
  });
});

test("a wrong server, several servers or a refusal are told to the model in words", async () => {
  const [one, two] = [server("one", docs), server("two", broken)];
  one.connect();
  two.connect();
  const { call } = setUp(one, two);
  const said = async (args: JsonObject) => JSON.stringify(await call(args));
  expect(await said({ server: "three" })).toContain("There is no such server. Servers with resources: one, two.");
  expect(await said({ uri: "doc://a" })).toContain("Say which server to read from: one, two.");
  expect(await said({ server: "two", uri: "doc://a" })).toContain("on fire");
  expect(await call({ server: "one", uri: "doc://a" }, AbortSignal.abort())).toEqual({ kind: "cancelled" });
});
