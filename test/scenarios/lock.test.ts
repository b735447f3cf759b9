// The lock of tool definitions: written, compared, and held against what servers say in the editor and where nobody can be asked.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type AcpClient, scriptedAcpServer, scriptedServer } from "../../src/testing/index.js";
import { ConfigBench, type Entry } from "./config-bench.js";
import { EVERYTHING, FILESYSTEM, MEMORY, program } from "./real-server.js";
import { scenario } from "./scenario.js";

/** A server with a tool that greets, described as given, and what else it has. */
function server(description: string, ...others: readonly string[]): Entry {
  const tool = (name: string, about: string, text: string) =>
    ({ name, description: about, reply: { kind: "text", text } }) as const;
  const { command, args } = scriptedServer({
    tools: [tool("greet", description, "good morning"), ...others.map((name) => tool(name, `Does ${name}`, name))],
  });
  return { command, args };
}

async function lockedBench(entry: Entry): Promise<ConfigBench> {
  const bench = await ConfigBench.open();
  bench.put("home/config.json", bench.servers({ s: entry }));
  const { code, stdout } = await bench.tenon(["mcp", "lock", "s"]);
  expect(code).toBe(0);
  expect(stdout).toContain("in .tenon/tools.lock (new)");
  return bench;
}

function lockFile(bench: ConfigBench): string {
  return readFileSync(join(bench.project, ".tenon", "tools.lock"), "utf8");
}

function noticesOf(client: AcpClient, sessionId: string): string {
  return client
    .updates(sessionId)
    .flatMap((update) => (update.sessionUpdate === "notice" ? [update.title] : []))
    .join("\n");
}

scenario(
  ["I7"],
  "tools are locked as one stable text, and a difference is shown in words with exit code 1",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", bench.servers({ mine: bench.greeter() }));
    bench.put("project/.mcp.json", bench.servers({ s: server("Greets the person", "old") }));
    expect((await bench.tenon(["mcp", "diff"])).code).toBe(3);
    expect((await bench.tenon(["mcp", "lock"])).stderr).toContain("tenon trust approve s");
    expect(existsSync(join(bench.project, ".tenon", "tools.lock"))).toBe(false);
    await bench.tenon(["trust", "approve", "s"]);

    expect(await bench.tenon(["mcp", "lock"])).toMatchObject({ code: 0, stdout: expect.stringContaining("2 tools") });
    const text = lockFile(bench);
    const content = JSON.parse(text);
    expect(Object.keys(content.servers)).toEqual(["s"]); // the user's own is not the team's
    expect(Object.keys(content.servers.s.tools)).toEqual(["greet", "old"]);
    expect(content.servers.s.tools.greet.hash).toMatch(/^[0-9a-f]{64}$/u);
    expect((await bench.tenon(["mcp", "lock"])).stdout).toContain("as before");
    expect(lockFile(bench)).toBe(text);
    expect(await bench.tenon(["mcp", "diff"])).toMatchObject({ code: 0, stdout: "s: as locked\n" });

    bench.put("project/.mcp.json", bench.servers({ s: server("Greets the person, and reads their keys", "new") }));
    await bench.tenon(["trust", "approve", "s"]);
    const { code, stdout } = await bench.tenon(["mcp", "diff"]);
    expect(code).toBe(1);
    expect(stdout.split("\n").slice(0, 4)).toEqual([
      "~ s / greet changed",
      "    changed description:",
      "      - Greets the person",
      "      + Greets the person, and reads their keys",
    ]);
    expect(stdout).toContain("+ s / new added");
    expect(stdout).toContain("- s / old removed");
    const json = JSON.parse((await bench.tenon(["mcp", "diff", "s", "--json"])).stdout);
    expect(json).toMatchObject({
      isSame: false,
      servers: [{ server: "s", changes: [{ change: "changed" }, { change: "added" }, { change: "removed" }] }],
    });
    expect((await bench.tenon(["mcp", "lock"])).stdout).toContain("1 added, 1 changed, 1 removed");
    expect((await bench.tenon(["mcp", "diff"])).code).toBe(0);
  },
);

scenario(["I7"], "real servers give the same text each time they are locked", async () => {
  await using bench = await ConfigBench.open();
  const entry = (name: string, ...args: readonly string[]) => ({
    command: process.execPath,
    args: [program(name), ...args],
  });
  const servers = { everything: entry(EVERYTHING), files: entry(FILESYSTEM, "."), memory: entry(MEMORY) };
  bench.put("home/config.json", bench.servers(servers));
  expect((await bench.tenon(["mcp", "lock", "--all"])).code).toBe(0);
  const text = lockFile(bench);
  expect(Object.keys(JSON.parse(text).servers)).toEqual(["everything", "files", "memory"]);
  expect((await bench.tenon(["mcp", "diff"])).stdout).toBe(
    "everything: as locked\nfiles: as locked\nmemory: as locked\n",
  );
  await bench.tenon(["mcp", "lock"]);
  expect(lockFile(bench)).toBe(text);
});

scenario(
  ["I8"],
  "in the editor a tool that differs is held back, with a notice and a reason, until the person has looked at it",
  async () => {
    await using bench = await lockedBench(server("Greets the person"));
    bench.put("home/config.json", bench.servers({ s: server("Greets the person, and reads their keys") }));
    let answer: "deny" | "allow" = "deny";
    await using client = await bench.editor({ permissions: () => answer });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "use mcp__s__greet");
    expect(client.text(sessionId)).not.toContain("good morning");
    const [review] = client.permissionRequests;
    expect(review?.toolCall.title).toContain("differs from .tenon/tools.lock");
    expect(JSON.stringify(review?.toolCall.content)).toContain("reads their keys");
    expect(noticesOf(client, sessionId)).toContain('1 tool of "s" differs from .tenon/tools.lock and is held back');
    await client.prompt(sessionId, "/why s/greet");
    expect(client.text(sessionId)).toContain("is held back: it differs from .tenon/tools.lock");

    // Another session: this time the person takes the definition as it is.
    answer = "allow";
    const next = await client.newSession({ cwd: bench.project });
    await client.prompt(next.sessionId, "use mcp__s__greet");
    expect(client.text(next.sessionId)).toContain("good morning");

    // Whoever brings the server of that name: the editor's own is compared too.
    answer = "deny";
    const given = {
      name: "greet",
      description: "Greets otherwise",
      reply: { kind: "text", text: "hello you" },
    } as const;
    const third = await client.newSession({
      cwd: bench.project,
      mcpServers: [scriptedAcpServer("s", { tools: [given] })],
    });
    await client.prompt(third.sessionId, "use mcp__s__greet");
    expect(client.text(third.sessionId)).not.toContain("hello you");
  },
);

scenario(["I8"], "locking anew frees a held tool in a session that is open", async () => {
  await using bench = await lockedBench(server("Greets the person"));
  bench.put("home/config.json", bench.servers({ s: server("Greets everybody") }));
  const isReview = (title: string | null | undefined) => title?.includes("tools.lock") === true;
  await using client = await bench.editor({
    permissions: ({ toolCall }) => (isReview(toolCall.title) ? "deny" : "allow"),
  });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: bench.project });
  await client.prompt(sessionId, "use mcp__s__greet");
  expect(client.text(sessionId)).not.toContain("good morning");
  expect((await bench.tenon(["mcp", "lock"])).stdout).toContain("1 changed");
  await client.waitForUpdate(
    sessionId,
    (update) => update.sessionUpdate === "notice" && update.title.includes("the configuration changed"),
  );
  await client.prompt(sessionId, "use mcp__s__greet");
  expect(client.text(sessionId)).toContain("good morning");
});

scenario(["I9", "I8"], "where nobody can be asked it stays held back, also with --yes", async () => {
  await using bench = await lockedBench(server("Greets the person", "other"));
  expect((await bench.headless("greet me")).stdout).toContain("good morning");
  bench.put("home/config.json", bench.servers({ s: server("Greets the person, and reads their keys", "other") }));
  for (const words of [["--yes"], []]) {
    const { stdout, stderr } = await bench.tenon(["chat", "-p", "use mcp__s__greet", ...words]);
    expect(stdout).not.toContain("good morning");
    expect(stderr).toContain("Held back: s / greet: differs from .tenon/tools.lock");
  }
  // The others of the server go on.
  expect((await bench.tenon(["chat", "-p", "use mcp__s__other", "--yes"])).stdout).toContain("other");
  const why = await bench.tenon(["mcp", "why", "s/greet"]);
  expect(why.stdout).toContain("differs from .tenon/tools.lock");
  expect(why.stdout).toContain("next: tenon mcp diff s\n      tenon mcp lock s\n");
});

scenario(["I10"], "a lock that cannot be read holds back and says so; it never loosens anything", async () => {
  await using bench = await lockedBench(server("Greets the person"));
  const text = lockFile(bench);
  bench.put("project/.tenon/tools.lock", `<<<<<<< HEAD\n${text}`);
  const broken = await bench.headless("greet me");
  expect(broken.stdout).not.toContain("good morning");
  expect(broken.stderr).toContain("tools.lock: it is no JSON");
  expect((await bench.tenon(["mcp", "diff"])).code).toBe(3);
  expect((await bench.tenon(["mcp", "list", "--no-connect"])).stderr).toContain("no tool of an MCP server is used");

  // Only of one server: the others are not concerned.
  bench.put("home/config.json", bench.servers({ s: server("Greets the person"), t: bench.greeter("good evening") }));
  bench.put("project/.tenon/tools.lock", text.replace(/"hash": "[^"]*"/u, '"hash": "0"'));
  const partly = await bench.headless("use mcp__t__greet");
  expect(partly.stdout).toContain("good evening");
  expect((await bench.headless("use mcp__s__greet")).stdout).not.toContain("good morning");
  expect((await bench.tenon(["mcp", "lock", "s"])).code).toBe(0);
  expect((await bench.headless("use mcp__s__greet")).stdout).toContain("good morning");

  // A project's server that nobody approved is not used because the lock knows it.
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  bench.put("project/.tenon/tools.lock", text.replace('"s"', '"theirs"'));
  await bench.headless("greet me");
  expect(bench.deeds).toEqual([]);
});
