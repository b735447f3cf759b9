// The same providers behind the built `tenon acp`: what an editor sees of answers, waiting, failures and cancels.
import { expect } from "vitest";
import { type AcpClient, scriptedAcpServer } from "../../src/testing/index.js";
import {
  answerText,
  answerToolCall,
  type FakeProvider,
  type FakeProviderOptions,
  failWith,
  fakeProvider,
  gate,
} from "../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { TABLE_SERVER } from "./providers/stage.js";
import { conversationIn, resultsIn, TARGETS, type Target } from "./providers/target.js";
import { scenario } from "./scenario.js";

interface Editor {
  readonly client: AcpClient;
  readonly provider: FakeProvider;
  readonly sessionId: string;
}

async function inEditor(
  target: Target,
  run: (editor: Editor) => Promise<void>,
  options: FakeProviderOptions & { readonly mayRefuse?: boolean } = {},
): Promise<void> {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ schemaFaults: target.schemaFaults, ...options });
  const env = { ...target.env(provider), TENON_MODEL: target.model };
  await using client = await startTenon(home, { env, permissions: "always" });
  await client.initialize();
  const mcpServers = [scriptedAcpServer("s", TABLE_SERVER)];
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
  await run({ client, provider, sessionId });
  if (options.mayRefuse !== true) expect(provider.refusals.map(({ fault }) => fault)).toEqual([]);
}

for (const target of TARGETS) {
  scenario(["L1", "L2"], `${target.name} behind tenon acp: text and a call reach the editor in order`, () =>
    inEditor(target, async ({ client, provider, sessionId }) => {
      provider.reply(
        {
          kind: "answer",
          parts: [
            { kind: "text", text: "Let me see. ", chunks: 3 },
            { kind: "tool_call", name: "mcp__s__echo", arguments: { text: "through the wire" }, chunks: 6 },
          ],
        },
        answerText("There it is."),
      );
      const { stopReason } = await client.prompt(sessionId, "echo it");
      expect(stopReason).toBe("end_turn");
      expect(client.text(sessionId)).toBe("Let me see. There it is.");
      const kinds = client.updates(sessionId).map(({ sessionUpdate }) => sessionUpdate);
      expect(kinds.indexOf("tool_call")).toBeGreaterThan(kinds.indexOf("agent_message_chunk"));
      expect(kinds.filter((kind) => kind === "tool_call")).toHaveLength(1);
      expect(resultsIn(await provider.awaitRequest(1))[0]?.content).toContain("through the wire");
    }),
  );

  scenario(["L5"], `${target.name} behind tenon acp: a refused key becomes an error the editor can show`, () =>
    inEditor(
      target,
      async ({ client, sessionId }) => {
        await expect(client.prompt(sessionId, "hello")).rejects.toThrow(/key/i);
        const said = JSON.stringify(client.updates(sessionId));
        expect(said).not.toContain("sk-fake");
      },
      { apiKey: "another", mayRefuse: true },
    ),
  );

  scenario(
    ["L7"],
    `${target.name} behind tenon acp: a cut answer stays in sight and the next prompt goes on from it`,
    () =>
      inEditor(target, async ({ client, provider, sessionId }) => {
        provider.reply(
          { kind: "cut", parts: [{ kind: "text", text: "It begins well and" }] },
          answerText(" it ends well."),
        );
        await expect(client.prompt(sessionId, "tell me")).rejects.toThrow(/broke off|cut|malformed/i);
        expect(client.text(sessionId)).toContain("It begins well and");
        expect((await client.prompt(sessionId, "go on")).stopReason).toBe("end_turn");
        expect(JSON.stringify(conversationIn(await provider.awaitRequest(1)))).toContain("It begins well and");
      }),
  );

  scenario(
    ["L8"],
    `${target.name} behind tenon acp: session/cancel in the text ends the turn, and the next prompt works`,
    () =>
      inEditor(target, async ({ client, provider, sessionId }) => {
        const held = gate();
        provider.reply(
          {
            kind: "answer",
            parts: [
              { kind: "text", text: "Once upon a time" },
              { kind: "pause", until: held.opened },
            ],
          },
          answerText("Yes?"),
        );
        const prompting = client.prompt(sessionId, "tell me");
        await client.waitForUpdate(sessionId, ({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
        await client.cancel(sessionId);
        expect((await prompting).stopReason).toBe("cancelled");
        await expect.poll(() => provider.requests[0]?.aborted.aborted).toBe(true);
        expect((await client.prompt(sessionId, "are you there?")).stopReason).toBe("end_turn");
        expect(client.text(sessionId)).toContain("Yes?");
      }),
  );

  scenario(
    ["L10"],
    `${target.name} behind tenon acp: a tool it refuses is named to the person, and the turn succeeds`,
    () =>
      inEditor(
        target,
        async ({ client, provider, sessionId }) => {
          provider.replyWith(() => answerText("It works."));
          expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
          expect(client.text(sessionId)).toContain("It works.");
          const told = JSON.stringify(client.updates(sessionId));
          expect(told).toMatch(/s \/ picture|mcp__s__picture/);
        },
        {
          mayRefuse: true,
          schemaFaults: (tool) => (tool.name === "mcp__s__picture" ? ["no good"] : target.schemaFaults(tool)),
        },
      ),
  );
}

scenario(["L6"], "behind tenon acp the editor sees that a rate limit is being waited out", async () => {
  const [target] = TARGETS;
  if (!target) throw new Error("there are no targets");
  await inEditor(target, async ({ client, provider, sessionId }) => {
    provider.reply(failWith({ kind: "rate_limited", retryAfterS: 1 }), answerText("At last."));
    expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
    const told = JSON.stringify(client.updates(sessionId));
    expect(told).toMatch(/rate|limit/i);
    expect(told).toContain("At last.");
  });
});

scenario(["L17"], "with no key and no network the offline model answers, and asks nobody", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = {
    ANTHROPIC_BASE_URL: provider.origin,
    OPENAI_BASE_URL: provider.url,
    GOOGLE_GEMINI_BASE_URL: provider.origin,
  };
  await using client = await startTenon(home, { env });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [scriptedAcpServer("s", TABLE_SERVER)] });
  expect((await client.prompt(sessionId, "please echo hello offline")).stopReason).toBe("end_turn");
  expect(client.text(sessionId)).toContain("hello offline");
  expect(provider.requests).toEqual([]);
});

scenario(["L2"], "behind tenon acp a turn of many calls answers each of them once", async () => {
  const [target] = TARGETS;
  if (!target) throw new Error("there are no targets");
  await inEditor(target, async ({ client, provider, sessionId }) => {
    const calls = Array.from(
      { length: 5 },
      (_, index) => answerToolCall("mcp__s__echo", { text: `n${index}` }).parts,
    ).flat();
    provider.reply({ kind: "answer", parts: calls }, answerText("All."));
    expect((await client.prompt(sessionId, "five")).stopReason).toBe("end_turn");
    expect(resultsIn(await provider.awaitRequest(1))).toHaveLength(5);
  });
});
