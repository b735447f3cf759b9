// How providers fail, through the library: each failure becomes words people can act on, and the conversation goes on.
import { createServer } from "node:http";
import { expect } from "vitest";
import type { ErrorCode } from "../../src/base/errors.js";
import { closeListener, listenOnLoopback } from "../../src/testing/kit/loopback.js";
import { answerText, answerToolCall, type Fault, failWith, type ProviderReply } from "../../src/testing/lab/index.js";
import { expectFailure, expectGoesOn, onStage, Stage } from "../scenarios/providers/stage.js";
import { conversationIn, TARGETS } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

interface FinalFault {
  readonly fault: Fault;
  readonly code: ErrorCode;
  /** What the message or the hint has to speak of. */
  readonly says: RegExp;
}

/** Failures that no waiting cures: told at once, after exactly one request. */
const FINAL: readonly FinalFault[] = [
  { fault: { kind: "unauthorized" }, code: "model.unauthorized", says: /key/i },
  { fault: { kind: "quota" }, code: "model.quota", says: /billing|credit|quota/i },
  { fault: { kind: "unknown_model" }, code: "model.unknown", says: /model/i },
];

const noServers = { servers: {}, hurries: true } as const;

for (const target of TARGETS) {
  const { name } = target;

  for (const { fault, code, says } of FINAL) {
    scenario(["L5"], `${name}: ${fault.kind} is told at once, with what to do about it`, () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.reply(failWith(fault));
          const told = await stage.prompt("hello");
          expectFailure(told, code);
          expect(`${told.error?.message} ${told.error?.hint}`).toMatch(says);
          expect(stage.provider.requests).toHaveLength(1);
          await expectGoesOn(stage);
        },
        noServers,
      ),
    );
  }

  scenario(["L5", "L15"], `${name}: a wrong key is told by the variable it came from, never by itself`, () =>
    onStage(
      target,
      async (stage) => {
        const told = await stage.prompt("hello");
        expectFailure(told, "model.unauthorized");
        const [key, variable] =
          Object.entries(target.env(stage.provider))
            .find(([, value]) => value.startsWith("sk-"))
            ?.toReversed() ?? [];
        expect(`${told.error?.message} ${told.error?.hint}`).toContain(variable);
        expect(`${told.error?.message} ${told.error?.hint}`).not.toContain(key);
      },
      { ...noServers, provider: { apiKey: "another" }, mayRefuse: true },
    ),
  );

  scenario(
    ["L6", "L5"],
    `${name}: a rate limit is waited out as long as the provider says, in sight of the person`,
    () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.reply(failWith({ kind: "rate_limited", retryAfterS: 7 }), answerText("at last"));
          const told = await stage.prompt("hello");
          expect(told.text).toBe("at last");
          expect(told.result?.stopReason).toBe("end_turn");
          expect(told.turn.filter(({ kind }) => kind === "waiting")).toMatchObject([
            { code: "model.rate_limited", attempt: 1, reason: expect.stringMatching(/limit|quota/i) },
          ]);
          expect(stage.waits.some((delayMs) => delayMs >= 7_000 && delayMs <= 9_000)).toBe(true);
          expect(stage.provider.requests).toHaveLength(2);
        },
        noServers,
      ),
  );

  scenario(
    ["L6"],
    `${name}: a rate limit without end, or one that asks for hours, ends in an error that says when to come back`,
    () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.replyWith(() => failWith({ kind: "rate_limited" }));
          expectFailure(await stage.prompt("hello"), "model.rate_limited");
          const asked = stage.provider.requests.length;
          expect(asked).toBeGreaterThan(2);
          expect(asked).toBeLessThanOrEqual(8);
          stage.provider.replyWith(() => failWith({ kind: "rate_limited", retryAfterS: 7_200 }));
          const told = await stage.prompt("again");
          expectFailure(told, "model.rate_limited");
          expect(stage.provider.requests).toHaveLength(asked + 1);
          expect(`${told.error?.message} ${told.error?.hint}`).toMatch(/2 h|120 min|7200/);
          await expectGoesOn(stage);
        },
        noServers,
      ),
  );

  scenario(["L6", "L5"], `${name}: overload is waited out a bounded number of times`, () =>
    onStage(
      target,
      async (stage) => {
        const overloaded = failWith({ kind: "overloaded" });
        stage.provider.reply(overloaded, overloaded, answerText("at last"));
        const told = await stage.prompt("hello");
        expect(told.text).toBe("at last");
        expect(told.turn.filter(({ kind }) => kind === "waiting")).toHaveLength(2);
        stage.provider.replyWith(() => overloaded);
        expectFailure(await stage.prompt("hello"), "model.overloaded");
        await expectGoesOn(stage);
      },
      noServers,
    ),
  );

  scenario(["L5"], `${name}: an overload that comes inside the stream, before any output, is waited out as well`, () =>
    onStage(
      target,
      async (stage) => {
        const inside: ProviderReply = {
          kind: "answer",
          parts: [{ kind: "fault_inside", fault: { kind: "overloaded" } }],
        };
        stage.provider.reply(inside, answerText("at last"));
        const told = await stage.prompt("hello");
        expect(told.error).toBeUndefined();
        expect(told.text).toBe("at last");
      },
      noServers,
    ),
  );

  scenario(["L5"], `${name}: a conversation that is too long is told as such`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply(failWith({ kind: "context_overflow", tokens: 300_000, limit: 200_000 }));
        // Nothing is there to be compacted but the prompt itself: asking again could not help.
        stage.provider.replyWith(() => failWith({ kind: "context_overflow", tokens: 300_000, limit: 200_000 }));
        const told = await stage.prompt("hello");
        expectFailure(told, "model.context_overflow");
        expect(`${told.error?.message} ${told.error?.hint}`).toMatch(/compact|window|context/i);
        await expectGoesOn(stage);
      },
      noServers,
    ),
  );

  scenario(
    ["L5", "L13"],
    `${name}: a prompt that the content filter blocks is a refusal, and not part of the conversation any more`,
    () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.reply(failWith({ kind: "content_filter" }));
          const told = await stage.prompt("the blocked words");
          expect(told.error ?? told.result?.stopReason).toBe("refusal");
          expect(told.turn.some(({ kind }) => kind === "stopped" || kind === "text")).toBe(true);
          await expectGoesOn(stage);
          expect(JSON.stringify(conversationIn(await stage.provider.awaitRequest(1)))).not.toContain(
            "the blocked words",
          );
        },
        noServers,
      ),
  );

  scenario(["L5"], `${name}: a provider that cannot be reached is told with its address`, async () => {
    await using stage = await Stage.open(target, noServers);
    const { origin } = stage.provider;
    await stage.provider[Symbol.asyncDispose]();
    const told = await stage.prompt("hello");
    expectFailure(told, "model.unavailable");
    expect(`${told.error?.message} ${told.error?.hint}`).toContain(new URL(origin).host);
    expect(told.turn.some(({ kind }) => kind === "waiting")).toBe(true);
  });

  scenario(["L5"], `${name}: an answer that is no stream at all, or not this provider's, is told as malformed`, () =>
    onStage(
      target,
      async (stage) => {
        const page = {
          kind: "raw",
          status: 200,
          contentType: "text/html",
          body: "<html>Please log in</html>",
        } as const;
        stage.provider.replyWith(() => page);
        const told = await stage.prompt("hello");
        expect(told.result).toBeUndefined();
        expect(told.error?.code).toMatch(/^model\.(broken_stream|unavailable)$/);
        await expectGoesOn(stage);
        stage.provider.replyWith(() => ({ ...page, status: 502 }));
        expectFailure(await stage.prompt("again"), "model.unavailable");
        await expectGoesOn(stage);
      },
      noServers,
    ),
  );

  scenario(["L5", "L7"], `${name}: a malformed event in the middle keeps what came before it and is told`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply({
          kind: "answer",
          parts: [{ kind: "text", text: "The first half" }, { kind: "malformed" }],
        });
        const told = await stage.prompt("hello");
        expectFailure(told, "model.broken_stream");
        expect(told.text).toContain("The first half");
        await expectGoesOn(stage);
        expect(JSON.stringify(conversationIn(await stage.provider.awaitRequest(1)))).toContain("The first half");
      },
      noServers,
    ),
  );

  for (const how of ["cut", "end_early"] as const) {
    scenario(
      ["L7"],
      `${name}: an answer whose stream is ${how === "cut" ? "cut" : "ended"} in the middle is kept, marked, and gone on from`,
      () =>
        onStage(
          target,
          async (stage) => {
            stage.provider.reply({
              kind: "answer",
              parts: [{ kind: "text", text: "It begins well and", after: { pieces: 1, happens: { kind: how } } }],
            });
            const told = await stage.prompt("tell me a story");
            expectFailure(told, "model.broken_stream");
            expect(told.text).toContain("It begins well and");
            expect(told.error?.hint).toMatch(/go on|again/i);
            await expectGoesOn(stage);
            const sent = JSON.stringify(conversationIn(await stage.provider.awaitRequest(1)));
            expect(sent).toMatch(/It begins well and.*broke off/);
            expect(sent).toContain("tell me a story");
          },
          noServers,
        ),
    );
  }

  scenario(["L7"], `${name}: a stream that is cut before anything came is asked for again, unseen`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply({ kind: "cut", parts: [] }, answerText("second try"));
        const told = await stage.prompt("hello");
        const isSaid = told.text === "second try" || told.error !== undefined;
        expect(isSaid, JSON.stringify(told.turn)).toBe(true);
        if (told.error) {
          expectFailure(told, "model.broken_stream");
          expect((await stage.prompt("again")).text).toBe("second try");
        }
      },
      noServers,
    ),
  );

  scenario(["L7"], `${name}: a stream that is cut in the arguments of a call never runs the call`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply({
          kind: "answer",
          parts: [
            { kind: "text", text: "I will look. " },
            {
              kind: "tool_call",
              name: "mcp__s__echo",
              arguments: { text: "never" },
              chunks: 4,
              after: { pieces: 2, happens: { kind: "cut" } },
            },
          ],
        });
        const told = await stage.prompt("look");
        expectFailure(told, "model.broken_stream");
        expect(told.turn.some(({ kind }) => kind === "call_started" || kind === "call_running")).toBe(false);
        await expectGoesOn(stage);
      },
      { hurries: true },
    ),
  );

  scenario(["L5", "L7"], `${name}: a failure after tools have run keeps their results in the conversation`, () =>
    onStage(
      target,
      async (stage) => {
        stage.provider.reply(answerToolCall("mcp__s__echo", { text: "kept" }), failWith({ kind: "quota" }));
        const told = await stage.prompt("call, then fail");
        expectFailure(told, "model.quota");
        await expectGoesOn(stage);
        const sent = JSON.stringify(conversationIn(await stage.provider.awaitRequest(2)));
        expect(sent).toContain("kept");
      },
      { hurries: true },
    ),
  );
}

scenario(["L5"], "a provider that accepts the connection and then says nothing can be cancelled", async () => {
  const server = createServer(() => {});
  const origin = await listenOnLoopback(server);
  const [target] = TARGETS;
  if (!target) throw new Error("there are no targets");
  const silent = { ...target, env: () => target.env({ origin, url: `${origin}/v1` }) };
  {
    await using stage = await Stage.open(silent, { servers: {} });
    const controller = new AbortController();
    const prompting = stage.prompt("hello", controller.signal);
    await new Promise<void>((resolve) => server.once("request", () => resolve()));
    controller.abort();
    const told = await prompting;
    expect(told.result?.stopReason).toBe("cancelled");
  }
  await closeListener(server);
});
