// References are filled from the environment, files, commands and the keyring, as far as the layer may; what is missing is named.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { parseTemplate } from "../layers/read-entry.js";
import type { Place } from "../layers/read-layer.js";
import { type InterpolationSource, interpolate, isMissing, type ResolveSecret, Secrets } from "./secrets.js";

const PLACE: Place = { layer: "user", file: "/home/me/config.json", line: 3, column: 7 };

interface Given {
  readonly world?: FakeWorld;
  readonly env?: Record<string, string>;
  readonly within?: string;
  readonly resolve?: ResolveSecret;
  readonly mayBeSecret?: boolean;
}

async function fill(text: string, given: Given = {}) {
  const world = given.world ?? fakeWorld();
  const source: InterpolationSource = {
    world,
    env: given.env ?? {},
    folder: given.within ?? "/home/me",
    patience: new AbortController().signal,
    ...(given.within === undefined ? {} : { within: given.within }),
    ...(given.resolve ? { secrets: new Secrets(world, given.resolve) } : {}),
  };
  const mayBeSecret = given.mayBeSecret ?? true;
  return await interpolate({ text, path: ["env", "TOKEN"], mayBeSecret }, () => PLACE, source);
}

describe("variables", () => {
  const env = { NAME: "tenon", EMPTY: "", HOME: "/home/me" };

  it.each([
    ["${NAME}", "tenon"],
    ["{env:NAME}", "tenon"],
    ["${env:NAME}", "tenon"],
    ["a ${NAME}-{env:NAME} b", "a tenon-tenon b"],
    ["${NAME:-x}", "tenon"],
    ["${NONE:-x y}", "x y"],
    ["${NONE:-}", ""],
    ["${EMPTY:-x}", "x"],
    ["${EMPTY}", ""],
    ["$${NAME}", "${NAME}"],
    ["$$${NAME}", "$${NAME}"],
    ["$NAME $1 {NAME} {} $", "$NAME $1 {NAME} {} $"],
    ["", ""],
  ])("fills %j with %j", async (text, expected) => {
    expect(await fill(text, { env })).toMatchObject({ text: expected });
  });

  it("marks what came from elsewhere as secret, but neither defaults nor what everybody knows", async () => {
    expect(await fill("${NAME} ${NONE:-plain} ${HOME}", { env })).toEqual({
      text: "tenon plain /home/me",
      secrets: ["tenon"],
    });
  });

  it("is not filled a second time with what it was filled with", async () => {
    expect(await fill("${A}", { env: { A: "${B} {file:/etc/passwd} !x", B: "no" } })).toMatchObject({
      text: "${B} {file:/etc/passwd} !x",
    });
  });

  it("names the variable and the place when it is not set", async () => {
    expect(await fill("${TOKEN}")).toEqual({
      kind: "missing",
      reason: "the environment variable TOKEN is not set (env.TOKEN in /home/me/config.json:3:7)",
    });
    expect(await fill("${constructor}")).toMatchObject({ kind: "missing" });
  });

  it.each(["${}", "${1}", "${A", "${A:0:3}", "{env:}", "{env:a b}", "{file:}", "${input:token}"])(
    "does not guess at %s",
    async (text) => {
      expect(await fill(text, { env: { A: "1" } })).toMatchObject({
        kind: "missing",
        reason: expect.stringContaining(`${text} is no reference Tenon knows; write $\${ for a literal \${`),
      });
    },
  );
});

describe("files", () => {
  const files = {
    "/home/me/token": "t0ken\n",
    "/etc/secret": "s",
    "/project/a/cert": "c\r\n",
    "/home/me/.x/y": "home",
  };

  it("are found beside the configuration file, by full path, and at home, without their last line break", async () => {
    const world = fakeWorld({ files });
    expect(await fill("Bearer {file:token}", { world })).toEqual({ text: "Bearer t0ken", secrets: ["t0ken"] });
    expect(await fill("{file:/etc/secret}", { world })).toMatchObject({ text: "s" });
    expect(await fill("{file:~/.x/y}", { world, env: { HOME: "/home/me" } })).toMatchObject({ text: "home" });
  });

  it("of a project must lie in the project, links followed", async () => {
    const world = fakeWorld({ files });
    world.files.link("/project/link", "/etc/secret");
    const within = "/project";
    expect(await fill("{file:a/cert}", { world, within })).toMatchObject({ text: "c" });
    for (const path of ["/etc/secret", "../etc/secret", "link", "a/../../etc/secret"]) {
      expect(await fill(`{file:${path}}`, { world, within })).toMatchObject({
        kind: "missing",
        reason: expect.stringContaining("leads out of the project"),
      });
    }
    expect(await fill("{file:~/token}", { world, within, env: { HOME: "/home/me" } })).toMatchObject({
      reason: expect.stringContaining("there is no such file"),
    });
  });

  it("must be there, be files, and be small", async () => {
    const world = fakeWorld({
      files: { "/home/me/folder/x": "", "/home/me/big": "x".repeat(LIMITS.configValueMaxBytes + 1) },
    });
    expect(await fill("{file:none}", { world })).toMatchObject({ reason: expect.stringContaining("no such file") });
    expect(await fill("{file:folder}", { world })).toMatchObject({ reason: expect.stringContaining("no such file") });
    expect(await fill("{file:big}", { world })).toMatchObject({ reason: expect.stringContaining("larger than") });
  });
});

describe("secrets", () => {
  it("come from a command or the keyring, through the port, and are asked for once", async () => {
    const asked: unknown[] = [];
    const resolve: ResolveSecret = async (request) => {
      asked.push(request);
      return "s3cret\n";
    };
    expect(await fill("!op read x ${NOT_FILLED}", { resolve })).toEqual({ text: "s3cret", secrets: ["s3cret"] });
    expect(await fill("keyring: github", { resolve })).toMatchObject({ text: "s3cret" });
    expect(asked).toEqual([
      { kind: "command", command: "op read x ${NOT_FILLED}" },
      { kind: "keyring", name: "github" },
    ]);
  });

  it("are never fetched for values that carry none, nor where the layer may not", async () => {
    const resolve: ResolveSecret = () => Promise.reject(new Error("must not be asked"));
    expect(await fill("!node_modules", { resolve, mayBeSecret: false })).toMatchObject({ text: "!node_modules" });
    expect(await fill("keyring:x", { resolve, mayBeSecret: false })).toMatchObject({ text: "keyring:x" });
    expect(await fill("!!literal", { resolve })).toMatchObject({ text: "!literal", secrets: [] });
    expect(await fill("!x")).toMatchObject({
      kind: "missing",
      reason: expect.stringContaining("user's own configuration only"),
    });
  });

  it.each([
    [async () => undefined, "keyring:gh", 'the keyring has no entry "gh": tenon secret set gh puts it there'],
    [async () => undefined, "!true", 'the command "true" gave nothing'],
    [() => Promise.reject(new Error("locked")), "keyring:gh", "the keyring failed: locked"],
    [() => Promise.reject(new Error("exit code 1")), "!false", 'the command "false" failed: exit code 1'],
  ] satisfies [ResolveSecret, string, string][])(
    "that cannot be had are a reason (%#)",
    async (resolve, text, reason) => {
      expect(await fill(text, { resolve })).toMatchObject({ kind: "missing", reason: expect.stringContaining(reason) });
    },
  );

  it("are given up when nobody answers", async () => {
    const world = fakeWorld();
    const filling = fill("!sleep", { world, resolve: () => new Promise(() => {}) });
    await world.advance(LIMITS.secretTimeoutMs);
    expect(await filling).toMatchObject({ reason: expect.stringContaining("gave no answer within") });
    expect(world.clock.pendingTimers).toBe(0);
  });

  it("are asked for once for all who want them, and again only after a failure was forgotten", async () => {
    const world = fakeWorld();
    const answers: (string | undefined)[] = [undefined, "now"];
    let count = 0;
    const secrets = new Secrets(world, async () => answers[count++]);
    const { signal } = new AbortController();
    const get = () => secrets.get({ kind: "keyring", name: "x" }, signal);
    expect((await Promise.all([get(), get()])).map(({ kind }) => kind)).toEqual(["missing", "missing"]);
    expect(await get()).toMatchObject({ kind: "missing" });
    secrets.forgetFailures();
    expect(await get()).toEqual({ kind: "found", value: "now" });
    secrets.forgetFailures();
    expect(await get()).toEqual({ kind: "found", value: "now" });
    expect(count).toBe(2);
  });

  it("that take long are not waited for beyond the patience of who asks", async () => {
    const world = fakeWorld();
    let answer: (value: string) => void = () => {};
    const secrets = new Secrets(world, () => new Promise((resolve) => (answer = resolve)));
    const patience = new AbortController();
    const waiting = secrets.get({ kind: "keyring", name: "x" }, patience.signal);
    patience.abort();
    expect(await waiting).toEqual({ kind: "waiting" });
    answer("late");
    await secrets.idle();
    expect(await secrets.get({ kind: "keyring", name: "x" }, patience.signal)).toEqual({
      kind: "found",
      value: "late",
    });
  });
});

describe("any text", () => {
  it("is filled or missing, never a throw; without references it stays as it is", async () => {
    const text = fc.oneof(
      fc.string(),
      fc
        .array(fc.constantFrom("$", "{", "}", "${", "env:", "file:", ":-", "A", "!", "keyring:", "x", " "), {
          maxLength: 12,
        })
        .map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.boolean(), async (given, mayBeSecret) => {
        const result = await fill(given, { env: { A: "a" }, mayBeSecret });
        const parts = parseTemplate(given, { mayBeSecret });
        const isPlain = parts.every(({ kind }) => kind === "text");
        if (isPlain && !given.includes("$${") && !given.startsWith("!!"))
          expect(result).toEqual({ text: given, secrets: [] });
        if (parts.some(({ kind }) => kind === "malformed")) expect(isMissing(result)).toBe(true);
      }),
    );
  });
});
