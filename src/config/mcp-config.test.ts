// An `--mcp-config` file gives its good entries and names what is wrong with the others.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMcpConfig } from "./mcp-config.js";

function parse(entries: unknown) {
  return parseMcpConfig(JSON.stringify({ mcpServers: entries }), "mcp.json");
}

describe("parseMcpConfig", () => {
  it("reads stdio, http and sse servers, with what they leave out filled in", () => {
    expect(
      parse({
        notes: { command: "node", args: ["notes.js"], env: { A: "1" }, cwd: "/srv" },
        bare: { command: "uvx" },
        web: { type: "http", url: "https://example.com/mcp", headers: { Authorization: "Bearer x" } },
        old: { type: "sse", url: "http://localhost:3000/sse" },
        untyped: { url: "https://example.com/mcp" },
      }),
    ).toEqual({
      problems: [],
      servers: [
        { kind: "stdio", name: "notes", command: "node", args: ["notes.js"], env: { A: "1" }, cwd: "/srv" },
        { kind: "stdio", name: "bare", command: "uvx", args: [], env: {} },
        { kind: "http", name: "web", url: "https://example.com/mcp", headers: { Authorization: "Bearer x" } },
        { kind: "sse", name: "old", url: "http://localhost:3000/sse", headers: {} },
        { kind: "http", name: "untyped", url: "https://example.com/mcp", headers: {} },
      ],
    });
  });

  it.each(["streamable-http", "streamableHttp", "streamable_http", "websocket"])(
    "takes %s as a name for http",
    (type) => {
      expect(parse({ web: { type, url: "https://example.com" } }).servers).toMatchObject([{ kind: "http" }]);
    },
  );

  it("ignores fields of other clients and a byte order mark", () => {
    const text = JSON.stringify({ other: 1, mcpServers: { a: { command: "a", icon: "star" } } });
    expect(parseMcpConfig(`\ufeff${text}`, "mcp.json")).toEqual({
      problems: [],
      servers: [{ kind: "stdio", name: "a", command: "a", args: [], env: {} }],
    });
  });

  it.each([
    [7, "expected an object, got a number"],
    [null, "expected an object, got null"],
    [{}, "expected a command, or a type and a url"],
    [{ command: "a", url: "https://b" }, "expected either a command or a url, got both"],
    [{ command: " " }, "command must be a text that is not empty, got an empty text"],
    [{ command: ["a"] }, "command must be a text that is not empty, got a list"],
    [{ command: "a", args: "b" }, "args must be a list of texts, got a text"],
    [{ command: "a", args: ["b", 1] }, "args[1] must be a text, got a number"],
    [{ command: "a", env: ["A=1"] }, "env must be an object of texts, got a list"],
    [{ command: "a", env: { PORT: 1 } }, "env.PORT must be a text, got a number"],
    [{ command: "a", cwd: 1 }, "cwd must be a text that is not empty, got a number"],
    [{ type: "stdio" }, "command must be a text that is not empty, got nothing"],
    [{ type: "http" }, "url must be a text that is not empty, got nothing"],
    [{ type: "smoke", url: "https://a" }, 'type must be "stdio", "http" or "sse", got "smoke"'],
    [{ url: "example.com/mcp" }, 'url must be a full http:// or https:// address, got "example.com/mcp"'],
    [{ url: "file:///etc/passwd" }, "url must be a full http:// or https:// address"],
    [{ url: "https://a", headers: { A: true } }, "headers.A must be a text, got a boolean"],
  ])("says what is wrong with %j, and keeps the others", (entry, problem) => {
    const config = parse({ before: { command: "a" }, bad: entry, after: { command: "b" } });
    expect(config.servers.map((server) => server.name)).toEqual(["before", "after"]);
    expect(config.problems).toEqual([expect.stringContaining(`mcp.json: server "bad": ${problem}`)]);
  });

  it("names an entry without a name", () => {
    expect(parse({ " ": { command: "a" } }).problems).toEqual(['mcp.json: server " ": the name must not be empty']);
  });

  it.each([
    ["{", /^mcp\.json: this is not JSON: /],
    ["[]", /expected .* got a list$/],
    ["{}", /got no mcpServers$/],
    ['{"mcpServers":[]}', /got a list as mcpServers$/],
  ])("refuses the whole file %s in one sentence", (text, problem) => {
    expect(parseMcpConfig(text, "mcp.json")).toEqual({ servers: [], problems: [expect.stringMatching(problem)] });
  });

  it("gives every entry of any file exactly one server or one problem, and never throws", () => {
    const entry = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          command: fc.jsonValue(),
          args: fc.jsonValue(),
          env: fc.jsonValue(),
          type: fc.jsonValue(),
          url: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
      fc.record({ command: fc.string(), args: fc.array(fc.string()) }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), entry), (entries) => {
        const { servers, problems } = parse(entries);
        expect(servers.length + problems.length).toBe(Object.keys(JSON.parse(JSON.stringify(entries))).length);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseMcpConfig(text, "mcp.json").problems.length).toBeLessThanOrEqual(1);
      }),
    );
  });
});
