// Tokens that expire under load: one refresh, nobody loses, whoever asks and from whichever process.
import { expect } from "vitest";
import type { AcpClient, ToolScript } from "../../src/testing/index.js";
import {
  type Answer,
  answerText,
  type FakeProvider,
  fakeProvider,
  type HeldEndpoint,
} from "../../src/testing/lab/index.js";
import { OAuthStage } from "./oauth/stage.js";
import { scenario } from "./scenario.js";

const READ: ToolScript = {
  name: "read",
  description: "Reads something",
  annotations: { readOnlyHint: true },
  reply: { kind: "text", text: "something was read" },
};
const SERVER = { behaviour: { tools: [READ] }, scopes: ["mcp"] };

const FIVE: Answer = {
  kind: "answer",
  parts: [1, 2, 3, 4, 5].map(() => ({ kind: "tool_call", name: "mcp__web__read", arguments: {} })),
};

function throughProvider(provider: FakeProvider): Record<string, string> {
  return { TENON_MODEL: "openai-compatible/x", TENON_BASE_URL: provider.url, TENON_API_KEY: "key" };
}

async function session(client: AcpClient, cwd: string): Promise<string> {
  const { sessionId } = await client.newSession({ cwd });
  return sessionId;
}

/** Nobody else may ask while one does. That nothing comes can only be waited for. */
const QUIET_MS = 1_500;

async function staysAlone(held: HeldEndpoint): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  expect(held.count).toBe(1);
}

/** How many calls have come to a good end in all sessions. */
function completed(client: AcpClient, sessions: readonly string[]): number {
  const all = sessions.flatMap((id) => client.updates(id));
  return all.filter((update) => "status" in update && update.status === "completed").length;
}

/** The newest tokens are the ones kept: after another expiry the next refresh works, and nothing was ever used twice. */
async function expectNothingLost(stage: OAuthStage, refreshes: number): Promise<void> {
  expect(stage.auth).toMatchObject({ refreshCount: refreshes, reuseCount: 0 });
  stage.auth.endpoints.tokens.expireAccess();
  const { stdout, stderr } = await stage.tenon(["chat", "-p", "mcp__web__whoami", "--yes"]);
  expect(stdout + stderr).toContain("you are alice");
  expect(stage.auth).toMatchObject({ refreshCount: refreshes + 1, reuseCount: 0 });
  expect(stage.auth.recordsOf("authorize")).toHaveLength(1);
}

scenario(["U13"], "five parallel calls of one turn meet an expired token: one refresh, five answers", async () => {
  await using stage = await OAuthStage.open({ server: SERVER });
  stage.configure({ web: { trustAnnotations: true } });
  await stage.login();
  await using provider = await fakeProvider();
  provider.reply(FIVE, answerText("done"));
  {
    await using client = await stage.agent({ env: throughProvider(provider) });
    await client.initialize();
    const id = await session(client, stage.home.path);
    await client.waitForUpdate(id, (update) => /"state":"ready"/u.test(JSON.stringify(update._meta ?? {})));
    stage.auth.endpoints.tokens.expireAccess();
    const held = stage.auth.hold("token");
    const turn = client.prompt(id, "read five times");
    await held.arrived(1);
    // Each of them has been turned away before the refresh is let go: none may start another.
    await expect.poll(() => stage.mcp.turned.filter(({ tool }) => tool === "read").length, { timeout: 10_000 }).toBe(5);
    await staysAlone(held);
    held.release();
    await turn;
    expect(completed(client, [id])).toBe(5);
  }
  await expectNothingLost(stage, 1);
});

scenario(["U13"], "five sessions of one agent meet an expired token at once: one refresh", async () => {
  await using stage = await OAuthStage.open({
    auth: { accessTokenMs: 2_000, delaysMs: { token: 200 } },
    server: SERVER,
  });
  await stage.login();
  {
    await using client = await stage.agent();
    await client.initialize();
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => session(client, stage.home.path)));
    await Promise.all(ids.map((id) => client.prompt(id, "mcp__web__read")));
    expect(completed(client, ids)).toBe(5);
    const before = stage.auth.refreshCount;
    stage.auth.script({ accessTokenMs: 3_600_000 });
    await expect
      .poll(
        () => stage.auth.endpoints.tokens.all.every((token) => token.kind === "refresh" || token.state !== "active"),
        {
          timeout: 10_000,
        },
      )
      .toBe(true);
    await Promise.all(ids.map((id) => client.prompt(id, "mcp__web__read")));
    expect(completed(client, ids)).toBe(10);
    expect(stage.auth).toMatchObject({ refreshCount: before + 1, reuseCount: 0 });
  }
  await expectNothingLost(stage, stage.auth.refreshCount);
});

scenario(["U14"], "three processes meet an expired token at once: one refresh, no token lost", async () => {
  await using stage = await OAuthStage.open({ server: SERVER });
  await stage.login();
  {
    const clients = await Promise.all([1, 2, 3].map(() => stage.agent()));
    try {
      const ids = await Promise.all(
        clients.map(async (client) => {
          await client.initialize();
          const id = await session(client, stage.home.path);
          await client.prompt(id, "mcp__web__read");
          return id;
        }),
      );
      stage.auth.endpoints.tokens.expireAccess();
      const turnedBefore = stage.mcp.turned.length;
      const held = stage.auth.hold("token");
      const turns = clients.map((client, index) => client.prompt(ids[index] ?? "", "mcp__web__read"));
      await held.arrived(1);
      await expect.poll(() => stage.mcp.turned.length - turnedBefore, { timeout: 10_000 }).toBe(3);
      await staysAlone(held);
      held.release();
      await Promise.all(turns);
      for (const [index, client] of clients.entries()) expect(completed(client, [ids[index] ?? ""])).toBe(2);
    } finally {
      for (const client of clients) await client[Symbol.asyncDispose]();
    }
  }
  await expectNothingLost(stage, 1);
});

scenario(["U14"], "a process that dies in the middle of a refresh holds nobody up", async () => {
  await using stage = await OAuthStage.open({ auth: { reuseRevokes: false }, server: SERVER });
  await stage.login();
  stage.auth.endpoints.tokens.expireAccess();
  const held = stage.auth.hold("token");
  const dying = stage.start(["chat", "-p", "mcp__web__whoami", "--yes"]);
  dying.endInput();
  await held.arrived(1);
  dying.kill("SIGKILL");
  await dying.done;
  held.release();
  const startedMs = performance.now();
  const { stdout, stderr } = await stage.tenon(["chat", "-p", "mcp__web__whoami", "--yes"]);
  expect(stdout + stderr).toContain("you are alice");
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

scenario(["U13", "U14"], "closing the session that refreshes costs nobody the log-in", async () => {
  await using stage = await OAuthStage.open({ server: SERVER });
  await stage.login();
  {
    await using client = await stage.agent();
    await client.initialize();
    const [leaving, staying] = [await session(client, stage.home.path), await session(client, stage.home.path)];
    await Promise.all([leaving, staying].map((id) => client.prompt(id, "mcp__web__read")));
    stage.auth.endpoints.tokens.expireAccess();
    // The server has exchanged the token for a new one, and its answer is still on the way.
    const held = stage.auth.hold("token", "after");
    const turn = client.prompt(leaving, "mcp__web__read");
    await held.arrived(1);
    await expect.poll(() => stage.auth.refreshCount).toBe(1);
    const closing = client.closeSession(leaving);
    const next = client.prompt(staying, "mcp__web__read");
    held.release();
    await Promise.allSettled([turn, closing, next]);
    expect(completed(client, [staying])).toBe(2);
  }
  await expectNothingLost(stage, 1);
});
