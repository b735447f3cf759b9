// Webhooks of the gateway against real HTTP servers: what arrives, what does not, and that nothing waits for them.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { expect } from "vitest";
import { loadConfig, type NotifyTarget, notifyTargets } from "../../src/config/index.js";
import { GATEWAY_LIMITS } from "../../src/gateway/limits.js";
import { Notifier } from "../../src/gateway/notify.js";
import type { OpenQuestion } from "../../src/gateway/protocol.js";
import { closeListener, type FakeWorld, fakeWorld, listenOnLoopback, readBody } from "../../src/testing/index.js";
import { scenario } from "../scenarios/scenario.js";

const SESSION = { sessionId: "0199-abc", cwd: "/home/me/secret-project/<b>&\u202Eträge" };
const LIMITS = GATEWAY_LIMITS.notify;

interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers each request by `answer`; 200 unless given. */
class Inbox implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly url: string;
  readonly #server;
  readonly #waiting: (() => void)[] = [];

  private constructor(server: ReturnType<typeof createServer>, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async open(answer: (response: ServerResponse) => void = (response) => response.end()): Promise<Inbox> {
    const take: ((got: Received) => void)[] = [];
    const server = createServer((request, response) => {
      readBody(request).then(
        (body) => {
          for (const one of take) one({ path: request.url, headers: request.headers, body });
          answer(response);
        },
        () => response.destroy(),
      );
    });
    const inbox = new Inbox(server, await listenOnLoopback(server));
    take.push((got) => {
      inbox.received.push(got);
      for (const resolve of inbox.#waiting.splice(0)) resolve();
    });
    return inbox;
  }

  /** The first `count` of them. */
  async until(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.received.slice(0, count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeListener(this.#server);
  }
}

function target(url: string, more: Partial<NotifyTarget> = {}): NotifyTarget {
  return { url, form: "json", hasContents: false, afterMs: 20_000, ...more };
}

function realFetchWorld(): FakeWorld {
  return fakeWorld({ fetch: (input, init) => fetch(input, init) });
}

function notifier(world: FakeWorld, targets: readonly NotifyTarget[], allowHosts: readonly string[] = []): Notifier {
  return new Notifier({ world, settings: async () => ({ targets, allowHosts }) });
}

function permission(world: FakeWorld, id = "q-1"): OpenQuestion {
  const shown = { tool: { label: "Run rm" }, arguments: { command: "rm -rf canary" } };
  return { id, of: "permission", askedAt: world.now(), shown };
}

/** The posts run on real sockets, whatever the clock says. */
async function pass(world: FakeWorld, ms: number): Promise<void> {
  await world.clock.advance(ms);
}

const failures = (world: FakeWorld) =>
  world.logEntries.filter(({ event, level }) => event === "notify.failed" && level === "warn");

scenario(
  ["G456"],
  "a question that waited is told in three forms, without contents unless they are wanted",
  async () => {
    await using inbox = await Inbox.open();
    const world = realFetchWorld();
    const forms = ["json", "ntfy", "slack"] as const;
    const targets = forms.flatMap((form) => [
      target(`${inbox.url}/${form}`, { form }),
      target(`${inbox.url}/${form}-full`, { form, hasContents: true, token: "tk_1" }),
    ]);
    await using notices = notifier(world, targets);
    notices.questions(SESSION, [permission(world), { ...permission(world), id: "q-2" }]);
    await pass(world, 19_999);
    notices.questions(SESSION, [permission(world)]); // the second one was answered in time
    expect(inbox.received).toEqual([]);
    await pass(world, 1);
    const received = new Map((await inbox.until(6)).map((one) => [one.path, one]));
    const at = (path: string) => received.get(path) ?? { path, headers: {}, body: "" };
    const asked = { id: "q-1", of: "permission", askedAt: "2026-11-01T00:00:00.000Z" };
    const plain = {
      event: "question_waiting",
      time: "2026-11-01T00:00:20.000Z",
      sessionId: "0199-abc",
      question: asked,
    };
    expect(JSON.parse(at("/json").body)).toEqual(plain);
    expect(at("/json").headers["content-type"]).toBe("application/json");
    expect(at("/json").headers.authorization).toBeUndefined();
    expect(JSON.parse(at("/json-full").body)).toMatchObject({
      ...plain,
      directory: SESSION.cwd,
      text: 'Allow Run rm? {"command":"rm -rf canary"}',
    });
    expect(at("/json-full").headers.authorization).toBe("Bearer tk_1");
    expect(at("/ntfy")).toMatchObject({ body: "tenon attach 0199-abc" });
    expect(at("/ntfy").headers).toMatchObject({ title: "Tenon waits for your answer (permission)", priority: "high" });
    expect(at("/ntfy-full").body).toContain("rm -rf canary");
    expect(JSON.parse(at("/slack").body)).toEqual({
      text: "*Tenon waits for your answer (permission)*\ntenon attach 0199-abc",
    });
    expect(at("/slack-full").body).toContain("secret-project/&lt;b&gt;&amp;");
    expect(at("/slack-full").body).not.toContain("\u202E");
    for (const path of ["/json", "/ntfy", "/slack"]) expect(at(path).body).not.toMatch(/canary|secret-project/u);
    await pass(world, 100_000);
    expect(inbox.received).toHaveLength(6); // once each
  },
);

scenario(
  ["G456"],
  "the end of a turn is told only where no client is attached, and a cancelled one never",
  async () => {
    await using inbox = await Inbox.open();
    const world = realFetchWorld();
    await using notices = notifier(world, [target(inbox.url, { hasContents: true })]);
    notices.turnEnded(SESSION, { stopReason: "end_turn" }, 1);
    notices.turnEnded(SESSION, { stopReason: "cancelled" }, 0);
    notices.turnEnded(SESSION, { stopReason: "end_turn" }, 0);
    notices.turnEnded(SESSION, { error: { code: "model.unavailable", message: "no answer" } }, 0);
    const bodies = (await inbox.until(2)).map(({ body }) => JSON.parse(body));
    expect(bodies).toMatchObject([
      { event: "turn_ended", stopReason: "end_turn" },
      { event: "turn_failed", error: { code: "model.unavailable" }, text: "no answer" },
    ]);
  },
);

scenario(
  ["G457"],
  "a failing server gets three attempts with backoff, and one line in the log without its address",
  async () => {
    const statuses = [500, 429, 503, 500, 500, 500, 200, 404];
    await using inbox = await Inbox.open((response) => response.writeHead(statuses.shift() ?? 200).end());
    await using other = await Inbox.open();
    const world = realFetchWorld();
    const secret = `${inbox.url}/services/T0/secret-path`;
    await using notices = notifier(world, [target(secret), target(other.url)]);
    const end = () => notices.turnEnded(SESSION, { stopReason: "end_turn" }, 0);
    end();
    end();
    await other.until(2); // not held up
    for (const attempt of [1, 2, 4, 5]) {
      await inbox.until(attempt);
      const nextMs = () => world.clock.nextDelayMs ?? LIMITS.requestMs;
      await expect.poll(nextMs).toBeLessThan(LIMITS.requestMs); // it has failed, and the next attempt waits
      await pass(world, nextMs());
      if (attempt === 2) await inbox.until(4); // the third attempt was the last, and the next notice follows
    }
    await inbox.until(6);
    await expect.poll(() => world.clock.pendingTimers).toBe(0);
    expect(failures(world)).toHaveLength(1);
    expect(JSON.stringify(world.logEntries)).not.toContain("secret-path");
    end();
    await inbox.until(7);
    await other.until(3);
    end(); // arrived before, so that a new failure is news; and a 404 is final
    await inbox.until(8);
    await expect.poll(() => failures(world).length).toBe(2);
    await pass(world, 100_000);
    expect(inbox.received).toHaveLength(8);
  },
);

scenario(["G457"], "a hanging server times out, piles nothing up, and ends with the gateway", async () => {
  await using inbox = await Inbox.open(() => {});
  const world = realFetchWorld();
  const notices = notifier(world, [target(inbox.url)]);
  for (let turn = 0; turn < 3 * LIMITS.waiting; turn++) notices.turnEnded(SESSION, { stopReason: "end_turn" }, 0);
  await inbox.until(1);
  expect(failures(world)[0]?.["reason"]).toContain("the oldest is dropped");
  await pass(world, LIMITS.requestMs);
  await expect.poll(() => world.clock.pendingTimers).toBe(1); // the wait before the second attempt
  await pass(world, LIMITS.backoff.maxMs);
  await inbox.until(2);
  notices.questions(SESSION, [permission(world)]);
  await notices[Symbol.asyncDispose]();
  expect(world.clock.pendingTimers).toBe(0);
});

scenario(
  ["G457", "G458"],
  "a redirect, a refused address and settings that cannot be read cost a log line",
  async () => {
    await using far = await Inbox.open();
    await using inbox = await Inbox.open((response) => response.writeHead(302, { location: far.url }).end());
    const world = realFetchWorld();
    const plainHttp = target("http://example.test/hook");
    await using notices = notifier(world, [target(inbox.url), plainHttp, target("ftp://example.test/x")]);
    notices.turnEnded(SESSION, { stopReason: "end_turn" }, 0);
    await inbox.until(1);
    await expect.poll(() => failures(world).length).toBe(3);
    const reasons = failures(world).map(({ reason }) => reason);
    expect(reasons.join("\n")).toMatch(/status 302[\s\S]*|use https for "example.test"/u);
    expect(far.received).toEqual([]);
    await using broken = new Notifier({ world, settings: () => Promise.reject(new Error("no file")) });
    broken.turnEnded(SESSION, { stopReason: "end_turn" }, 0);
    await expect.poll(() => world.logEntries.some(({ event }) => event === "notify.settings")).toBe(true);
  },
);

scenario(["G458"], "addresses and tokens may be references, in the user's own configuration only", async () => {
  const notify = [
    { url: "${HOOK_URL}", form: "slack" },
    { url: "https://ntfy.test/topic", form: "ntfy", token: "${NO_SUCH}", after: 0 },
    { url: "https://ntfy.test/topic", form: "ntfy", token: "keyring:ntfy", after: 60, contents: true },
  ];
  const world = fakeWorld({
    env: { HOME: "/home/me", HOOK_URL: "https://hooks.test/T/secret" },
    files: {
      "/home/me/.config/tenon/config.json": JSON.stringify({ gateway: { notify } }),
      "/project/.tenon/config.json": JSON.stringify({ gateway: { notify: { url: "https://evil.test/" } } }),
    },
  });
  const resolveSecret = async () => "tk_from_keyring";
  const config = await loadConfig({ world, cwd: "/project", resolveSecret });
  expect(config.problems.map(({ message }) => message).join()).toContain("where a gateway sends notices");
  const { targets, problems } = await notifyTargets(config, { world, resolveSecret });
  expect(targets).toEqual([
    { url: "https://hooks.test/T/secret", form: "slack", hasContents: false, afterMs: 20_000 },
    { url: "https://ntfy.test/topic", form: "ntfy", token: "tk_from_keyring", hasContents: true, afterMs: 60_000 },
  ]);
  expect(problems.map(({ message }) => message).join()).toContain("NO_SUCH");
  const one = fakeWorld({
    env: { HOME: "/home/me" },
    files: {
      "/home/me/.config/tenon/config.json":
        '{ "gateway": { "notify": { "url": "https://a.test/", "form": "teams" } } }',
    },
  });
  const wrong = await loadConfig({ world: one, cwd: "/project" });
  expect(wrong.notify).toBeUndefined();
  expect(wrong.problems.map(({ message }) => message).join()).toContain("json");
});
