// The way back from a log-in page over the loopback address.
import { describe, expect, it } from "vitest";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import type { LoginPage } from "./login-page.js";
import { loopbackWay } from "./loopback.js";

const NEVER = new AbortController().signal;
const PAGE = new URL("https://auth.example/authorize?state=s1");
const START = { server: "it", issuer: "https://auth.example", redirectUris: [] };

function wayIn(world: FakeWorld, port?: number) {
  const pages: LoginPage[] = [];
  const way = loopbackWay({
    world,
    port,
    show: async (page) => {
      pages.push(page);
      return undefined;
    },
  });
  return { way, pages };
}

describe("a log-in over the loopback address", () => {
  it("shows the page in full, hears the browser once, answers with a static page, and listens no more", async () => {
    const world = fakeWorld();
    const { way, pages } = wayIn(world);
    const attempt = await way.start(START, NEVER);
    const finished = attempt.finish(PAGE, NEVER);
    await world.settle();
    expect(pages).toMatchObject([{ server: "it", url: PAGE, warnings: [], redirectUri: attempt.redirectUri }]);
    const answer = world.listeners.visit(`${attempt.redirectUri}?code=c1&state=s1&x=<script>`);
    expect(answer).toMatchObject({ status: 200, headers: { "cache-control": "no-store" } });
    expect(answer.body).not.toMatch(/script|c1|s1/u);
    expect((await finished).get("code")).toBe("c1");
    expect(world.listeners.visit(`${attempt.redirectUri}?code=c2&state=s1`).status).toBe(404);
    await attempt[Symbol.asyncDispose]();
    expect(world.listeners.ports).toEqual([]);
  });

  it("does not hear what is not meant for it", async () => {
    const world = fakeWorld();
    const attempt = await wayIn(world).way.start(START, NEVER);
    const { visit } = { visit: world.listeners.visit.bind(world.listeners) };
    expect(visit(`${attempt.redirectUri}?code=early&state=s1`).status).toBe(404);
    let query: URLSearchParams | undefined;
    const finished = attempt.finish(PAGE, NEVER).then((heard) => (query = heard));
    expect(visit(`${attempt.redirectUri}?code=c1&state=other`).status).toBe(400);
    expect(visit(`${attempt.redirectUri}?code=c1`).status).toBe(400);
    expect(visit(`${attempt.redirectUri}?code=c1&state=s1`, { method: "POST" }).status).toBe(404);
    expect(visit(`${attempt.redirectUri}?code=c1&state=s1`, { host: "evil.example" }).status).toBe(403);
    expect(visit(`${attempt.redirectUri}?code=c1&state=s1`, { host: "" }).status).toBe(403);
    expect(visit(`${attempt.redirectUri}/more?code=c1&state=s1`).status).toBe(404);
    expect(visit(attempt.redirectUri, { target: "//evil.example/callback?code=c1&state=s1" }).status).toBe(404);
    await world.settle();
    expect(query).toBeUndefined();
    visit(`${attempt.redirectUri}?code=c1&state=s1`);
    await finished;
    expect(query?.get("code")).toBe("c1");
  });

  it("takes what the person pastes instead", async () => {
    const world = fakeWorld();
    const way = loopbackWay({ world, show: async () => new URLSearchParams("code=pasted&state=s1") });
    const attempt = await way.start(START, NEVER);
    expect((await attempt.finish(PAGE, NEVER)).get("code")).toBe("pasted");
  });

  it("ends when the person does not want it, and when nobody waits any more", async () => {
    const world = fakeWorld();
    const declined = await loopbackWay({ world, show: () => Promise.reject(new Error("no")) }).start(START, NEVER);
    await expect(declined.finish(PAGE, NEVER)).rejects.toThrow("no");
    const controller = new AbortController();
    const asked: AbortSignal[] = [];
    const show = (_page: LoginPage, signal: AbortSignal) => {
      asked.push(signal);
      return new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
    };
    const attempt = await loopbackWay({ world, show }).start(START, NEVER);
    const finished = attempt.finish(PAGE, controller.signal);
    controller.abort(new Error("gave up"));
    await expect(finished).rejects.toThrow("gave up");
    expect(asked[0]?.aborted).toBe(true);
  });

  it("takes the question back once the browser has answered", async () => {
    const world = fakeWorld();
    let isTakenBack = false;
    const show = (_page: LoginPage, signal: AbortSignal) =>
      new Promise<undefined>((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          isTakenBack = true;
          reject(signal.reason);
        }),
      );
    const attempt = await loopbackWay({ world, show }).start(START, NEVER);
    const finished = attempt.finish(PAGE, NEVER);
    world.listeners.visit(`${attempt.redirectUri}?code=c1&state=s1`);
    expect((await finished).get("code")).toBe("c1");
    expect(isTakenBack).toBe(true);
  });

  it("never shows what is no web page", async () => {
    const world = fakeWorld();
    const { way, pages } = wayIn(world);
    const attempt = await way.start(START, NEVER);
    await expect(attempt.finish(new URL("file:///etc/passwd"), NEVER)).rejects.toThrow(/no web page/u);
    expect(pages).toEqual([]);
  });

  it("listens where it is told to, or where it is known already, or anywhere", async () => {
    const world = fakeWorld();
    const told = await wayIn(world, 4_000).way.start(START, NEVER);
    expect(told.redirectUri).toBe("http://127.0.0.1:4000/callback");
    await expect(wayIn(world, 4_000).way.start(START, NEVER)).rejects.toThrow(/port 4000 \(callbackPort\)/u);
    const known = [
      "http://127.0.0.1:4000/callback",
      "https://elsewhere.example/callback",
      "http://127.0.0.1:5000/callback",
    ];
    const again = await wayIn(world).way.start({ ...START, redirectUris: known }, NEVER);
    expect(again.redirectUri).toBe("http://127.0.0.1:5000/callback");
    const free = await wayIn(world).way.start({ ...START, redirectUris: known }, NEVER);
    expect(known).not.toContain(free.redirectUri);
  });
});
