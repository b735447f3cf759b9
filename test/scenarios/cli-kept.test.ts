// What is kept on this machine, on the command line: conversations, approvals of tools, and which models there are keys for.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import { ConfigBench } from "./config-bench.js";
import { scenario } from "./scenario.js";

const HOSTILE = 'say </pre><script>alert(1)</script> and ``` and <img src=x onerror="alert(2)">';

scenario(["Q8"], "sessions are listed, shown, exported and deleted, and nothing said becomes markup", async () => {
  await using bench = await ConfigBench.open();
  await bench.headless(HOSTILE);
  await bench.headless("the second one");
  const { sessions, total }: { sessions: { id: string; title: string }[]; total: number } = JSON.parse(
    (await bench.tenon(["sessions", "list", "--json"])).stdout,
  );
  expect([total, sessions[0]?.title]).toEqual([2, "the second one"]);
  const first = sessions[1]?.id ?? "";
  expect((await bench.tenon(["sessions"])).stdout).toContain(first);
  expect((await bench.tenon(["sessions", "show", first])).stdout).toContain(`> ${HOSTILE}`);
  const page = join(bench.root, "talk.html");
  expect((await bench.tenon(["sessions", "export", first, "-o", page])).code).toBe(0);
  const html = readFileSync(page, "utf8");
  expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(html).not.toMatch(/<(?:script|img|iframe|link|a)\b/iu);
  expect(html).toContain("default-src 'none'");
  expect((await bench.tenon(["sessions", "export", first, "-o", page])).code).toBe(3);
  const nowhere = await bench.tenon(["sessions", "export", first, "-o", join(page, "in-a-file.md")]);
  expect(nowhere).toMatchObject({ code: 3, stderr: expect.stringContaining("in-a-file.md cannot be written") });
  const markdown = (await bench.tenon(["sessions", "export", first])).stdout;
  expect(markdown).toContain(`\`\`\`\`text\n${HOSTILE}\n\`\`\`\``);
  expect(markdown.replaceAll(/````text[\s\S]*?````/gu, "")).not.toMatch(/<(?:script|img)\b/iu);
  const json = JSON.parse((await bench.tenon(["sessions", "export", first, "--json"])).stdout);
  expect(json).toMatchObject({ id: first, items: [{ kind: "prompt", text: HOSTILE }, { kind: "answer" }] });
  const ambiguous = await bench.tenon(["sessions", "show", first.slice(0, 2)]);
  expect(ambiguous).toMatchObject({ code: 2, stderr: expect.stringContaining("2 sessions begin with") });
  expect((await bench.tenon(["sessions", "delete", first])).code).toBe(0);
  expect((await bench.tenon(["sessions", "show", first])).code).toBe(1);
  expect(JSON.parse((await bench.tenon(["sessions", "list", "--json"])).stdout)).toMatchObject({ total: 1 });
});

scenario(["Q10"], "what was allowed for good is listed, why knows of it, and it is forgotten on request", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", bench.servers({ greeter: bench.greeter() }));
  const approvals = async (): Promise<unknown[]> => {
    const { approvals: kept }: { approvals: unknown[] } = JSON.parse(
      (await bench.tenon(["trust", "approvals", "--json"])).stdout,
    );
    return kept;
  };
  expect(await approvals()).toEqual([]);
  const ask = async (answer: "always" | "deny_always"): Promise<void> => {
    await using client = await bench.editor({ permissions: answer });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "greet me");
  };
  await ask("deny_always");
  expect(await approvals()).toMatchObject([{ decision: "never", server: "greeter", tool: "greet" }]);
  const why = await bench.tenon(["mcp", "why", "greeter/greet"]);
  expect(why.stdout).toContain("you said never to it");
  expect((await bench.tenon(["trust", "approvals"])).stdout).toMatch(/^never +greeter\/greet/mu);
  expect((await bench.tenon(["trust", "forget", "greeter/other"])).code).toBe(3);
  expect((await bench.tenon(["trust", "forget", "greeter/greet"])).stdout).toContain("forgotten: never greeter/greet");
  expect(await approvals()).toEqual([]);
  expect((await bench.tenon(["trust", "forget"])).code).toBe(2);
});

scenario(["Q11"], "the models of a provider with a key are listed; the key is nowhere", async () => {
  await using bench = await ConfigBench.open();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? ""}`);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ data: [{ id: "tiny-1" }, { id: "tiny-2" }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    bench.put("home/config.json", {
      model: "openai-compatible/tiny-2",
      models: { "openai-compatible/tiny-2": { contextTokens: 4_000, price: { inputPerMTok: 1, outputPerMTok: 2 } } },
      providers: { "openai-compatible": { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "sk-very-secret-key-1" } },
    });
    const people = await bench.tenon(["models"]);
    expect(people.stdout).toMatch(/^\* openai-compatible\/tiny-2 +4k +– +1 \/ 2/mu);
    expect(people.stdout).toContain("anthropic: no key; set ANTHROPIC_API_KEY");
    const { stdout } = await bench.tenon(["models", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ default: "openai-compatible/tiny-2" });
    expect(asked[0]).toBe("/v1/models Bearer sk-very-secret-key-1");
    for (const text of [people.stdout, people.stderr, stdout]) expect(text).not.toContain("sk-very-secret");
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
