// Lazy servers: known from the last time, started when one of their tools is first used.
import { expect } from "vitest";
import { ConfigBench } from "./config-bench.js";
import { FILESYSTEM, program } from "./real-server.js";
import { scenario } from "./scenario.js";

const starts = (bench: ConfigBench) => bench.deeds.filter((deed) => deed === "started").length;

scenario(
  ["G13", "G2"],
  "a lazy server has its tools and no process until the first call, which starts it once and is answered",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("project/notes-of-today.txt", "hello");
    const entry = bench.canary({ lazy: true }, [program(FILESYSTEM), "."]);
    bench.put("home/config.json", bench.servers({ fs: entry, greeter: bench.greeter() }));

    // Nothing is known of it yet: it is started, and said to be.
    await using client = await bench.editor();
    await client.initialize();
    const first = await client.newSession({ cwd: bench.project });
    await client.prompt(first.sessionId, "greet me");
    expect(starts(bench)).toBe(1);
    expect(await client.request("_tenon/mcp/status", { sessionId: first.sessionId })).toMatchObject({
      servers: [{ name: "fs", state: "ready", note: expect.stringContaining("It is lazy") }, { name: "greeter" }],
    });
    await client.request("session/close", { sessionId: first.sessionId });

    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "greet me");
    expect(client.text(sessionId)).toContain("good morning");
    const resting: unknown = await client.request("_tenon/mcp/status", { sessionId });
    expect(resting).toMatchObject({
      servers: [
        {
          name: "fs",
          state: "idle",
          tools: expect.arrayContaining([expect.objectContaining({ name: "mcp__fs__list_directory" })]),
        },
        { name: "greeter", state: "ready" },
      ],
    });
    expect(starts(bench)).toBe(1);
    const told = client
      .updates(sessionId)
      .flatMap((update) => (update.sessionUpdate === "notice" ? [update.title] : []));
    expect(told).toContainEqual(expect.stringMatching(/^MCP server "fs" starts when it is first used: \d+ tools$/u));

    await client.prompt(sessionId, "list the files here");
    expect(client.text(sessionId)).toContain("notes-of-today.txt");
    expect(starts(bench)).toBe(2);
    await client.prompt(sessionId, "list the files here");
    expect(starts(bench)).toBe(2);
    expect(await client.request("_tenon/mcp/status", { sessionId })).toMatchObject({
      servers: [{ name: "fs", state: "ready" }, { name: "greeter" }],
    });
  },
);

scenario(["G13"], "a lazy server that does not start says so to the call that wanted it", async () => {
  await using bench = await ConfigBench.open();
  const flag = bench.put("broken", "no");
  const check = `if (require("node:fs").readFileSync(${JSON.stringify(flag)}, "utf8") === "yes") { console.error("the database is gone"); process.exit(3); }`;
  const file = bench.put("check.cjs", check);
  const { command, args } = bench.greeter();
  bench.put("home/config.json", bench.servers({ late: { command, args: ["--require", file, ...args], lazy: true } }));
  expect((await bench.headless("greet me")).stdout).toContain("good morning");
  const shown = await bench.script(["2*(3+4)", "/mcp"]);
  expect(shown.stderr).toMatch(/late +idle +1 tool, starts when first used/u);
  bench.put("broken", "yes");
  const { stdout, stderr } = await bench.headless("greet me");
  expect(`${stdout}${stderr}`).toContain("the database is gone");
  bench.put("broken", "no");
  expect((await bench.headless("greet me")).stdout).toContain("good morning");
});
