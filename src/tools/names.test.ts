// Names must suit every provider, be readable, and never collide within a session, whatever servers call themselves.
import fc from "fast-check";
import { expect, test } from "vitest";
import { ODD_SERVER_NAMES } from "../../test/odd-server-names.js";
import { watchEventLoop } from "../testing/lab/index.js";
import { mcpToolId, ToolNames, toolKey } from "./names.js";

const HASH = /_[a-z2-7]{8}$/;

test("the name of a server that is nothing but marks does not hold the event loop", async () => {
  const server = `a${"-".repeat(60_000)}b`;
  const { value, longestMs } = await watchEventLoop(async () => mcpToolId(server, "x"));
  expect(value.length).toBeLessThanOrEqual(64);
  expect(longestMs).toBeLessThan(50);
});

test("names lose only what no provider takes, and have no hash", () => {
  expect(mcpToolId("everything", "echo")).toBe("mcp__everything__echo");
  expect(mcpToolId("my-server", "read_file")).toBe("mcp__my-server__read_file");
  expect(mcpToolId("My Server (beta)", "math.sum")).toBe("mcp__My_Server_beta__math_sum");
  expect(mcpToolId("a__b_", "_own__name_")).toBe("mcp__a_b___own__name_");
  expect(mcpToolId("@acme/files", "read")).toBe("mcp__acme_files__read");
});

test("letters of other scripts become Latin ones, and servers in scripts without a table are numbered", () => {
  expect(mcpToolId("Файлы", "чтение")).toBe("mcp__Faily__chtenie");
  expect(mcpToolId("Καλημέρα", "x")).toBe("mcp__Kalimera__x");
  expect(mcpToolId("Łódź ﬁles Ünïcode", "x")).toBe("mcp__Lodz_files_Unicode__x");
  const names = new ToolNames();
  expect(["文件服务器", "日本語", "文件服务器", "🚀 deploy"].map((server) => names.of(server, "read"))).toEqual([
    "mcp__server__read",
    "mcp__server2__read",
    "mcp__server__read",
    "mcp__deploy__read",
  ]);
  expect(names.of("s", "读")).toBe("mcp__s__tool");
});

test("of a name that is too long the server's part is shortened to its end, and the tool's own name stays", () => {
  const own = "create_or_update_repository_file";
  expect(mcpToolId("github.com/org/servers/filesystem", own)).toBe(`mcp__filesystem__${own}`);
  expect(mcpToolId("https://example.com/teams/billing/mcp", own)).toBe(`mcp__billing_mcp__${own}`);
  expect(mcpToolId("the long name of the team of billing", own)).toBe(`mcp__of_the_team_of_billing__${own}`);
  expect(mcpToolId("x".repeat(90), own)).toHaveLength(64);
  for (const length of [50, 56, 57, 59]) {
    expect(mcpToolId("server".repeat(9), "t".repeat(length))).toMatch(
      new RegExp(`^mcp__(?:\\w+__)?${"t".repeat(length)}$`),
    );
  }
  const tooLong = mcpToolId("server", "t".repeat(60));
  expect([tooLong.length, HASH.test(tooLong)]).toEqual([64, true]);
  expect(mcpToolId("evil", `github__${"t".repeat(50)}`)).toMatch(HASH);
  expect(mcpToolId("evil", `github__${"t".repeat(50)}`)).not.toMatch(/^mcp__github__/);
});

test("40 odd server names give valid names that differ and end in the tool's own; only those that collide have a hash", () => {
  const names = new ToolNames();
  const ids = ODD_SERVER_NAMES.map((server) => names.of(server, "read_file"));
  expect(ODD_SERVER_NAMES.length).toBeGreaterThanOrEqual(40);
  expect(new Set(ids).size).toBe(ids.length);
  const plain = new Set<string>();
  for (const [at, id] of ids.entries()) {
    expect(id).toMatch(/^mcp__[A-Za-z0-9][A-Za-z0-9_-]*__read_file(?:_[a-z2-7]{8})?$/);
    expect(id.length).toBeLessThanOrEqual(64);
    const wanted = mcpToolId(ODD_SERVER_NAMES[at] ?? "", "read_file");
    if (!/^mcp__server2?__/.test(wanted)) expect(HASH.test(id)).toBe(plain.has(wanted));
    plain.add(wanted);
  }
});

test("a tool keeps its name whatever comes later, and of two that collide the later one has the hash", () => {
  const names = new ToolNames();
  expect(names.of("my server", "echo")).toBe("mcp__my_server__echo");
  const later = names.of("my.server", "echo");
  expect(later).toMatch(/^mcp__my_server__echo_[a-z2-7]{8}$/);
  expect(names.of("my.server", "other")).toBe("mcp__my_server__other");
  expect([names.of("my server", "echo"), names.of("my.server", "echo")]).toEqual(["mcp__my_server__echo", later]);
  const own = "t".repeat(50);
  expect(names.of("a long server", own)).toBe(`mcp__server__${own}`);
  expect(names.of("another server", own)).toMatch(new RegExp(`^mcp__${own}_[a-z2-7]{8}$`));
});

test("a name from the journal stays with its tool, also one by the former rule, and only a valid one", () => {
  const former = toolKey("my server", "echo");
  expect(former).toMatch(/^mcp__my_server__echo_[a-z2-7]{8}$/);
  const names = new ToolNames();
  names.keep(former, "my server", "echo");
  names.keep("mcp__x__echo", "y", "echo");
  names.keep("read_file", "evil", "read");
  expect(names.of("my server", "echo")).toBe(former);
  expect(names.of("x", "echo")).toMatch(HASH);
  expect(names.of("y", "echo")).toBe("mcp__x__echo");
  expect(names.of("evil", "read")).toBe("mcp__evil__read");
});

test("any servers and tools get different valid names, the same each time they are asked for", () => {
  const part = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[_a-b.]{0,6}$/),
    fc.string({ unit: "grapheme", maxLength: 90 }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part), { maxLength: 12 }), (pairs) => {
      const names = new ToolNames();
      const ids = pairs.map(([server, tool]) => names.of(server, tool));
      for (const id of ids) expect(id).toMatch(/^mcp__[A-Za-z0-9_-]{1,59}$/);
      expect(pairs.map(([server, tool]) => names.of(server, tool))).toEqual(ids);
      expect(new Set(ids).size).toBe(new Set(pairs.map((pair) => pair.join("\0"))).size);
    }),
    { numRuns: 1_000 },
  );
});
