// `tenon mcp login` and `logout` in a world of files in memory, against a real authorization server.
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { type FakeWorld, fakeWorld } from "../../../testing/index.js";
import {
  type AuthServer,
  authServer,
  type ProtectedServer,
  protectedServer,
  visit,
} from "../../../testing/lab/index.js";
import type { CommandContext } from "../../context.js";
import { grantKeyStatus, grantKeyText } from "../../secrets.js";
import { createPalette } from "../../terminal/stream.js";
import { type LoginValues, logInHere, logOutHere } from "./login.js";

const NEVER = new AbortController().signal;
const KEYRING = {
  get: () => Promise.reject(new Error("no keyring here")),
  set: () => Promise.reject(new Error("no keyring here")),
  remove: () => Promise.reject(new Error("no keyring here")),
};

class Stage implements AsyncDisposable {
  readonly auth: AuthServer;
  readonly mcp: ProtectedServer;
  readonly world: FakeWorld;
  readonly input = new PassThrough();
  readonly opened: string[] = [];
  /** What the browser does with the page it is opened at. */
  browse: (page: URL) => Promise<string | undefined> = async (page) => {
    this.world.listeners.visit(String(await visit(page.href)));
    return undefined;
  };
  #out = "";
  #err = "";
  readonly context: CommandContext;

  constructor(auth: AuthServer, mcp: ProtectedServer, more: object = {}) {
    this.auth = auth;
    this.mcp = mcp;
    const config = {
      allowHosts: [auth.host],
      mcpServers: {
        web: { url: mcp.url },
        work: { url: mcp.url, account: "work" },
        token: { url: mcp.url, headers: { Authorization: "Bearer x" } },
        local: { command: "run" },
        ...more,
      },
    };
    const project = { mcpServers: { theirs: { url: mcp.url } } };
    this.world = fakeWorld({
      env: { HOME: "/home/me", PATH: "/usr/bin" },
      files: {
        "/usr/bin/run": "",
        "/home/me/.config/tenon/config.json": JSON.stringify(config),
        "/project/.mcp.json": JSON.stringify(project),
      },
    });
    const into = (add: (text: string) => void) => {
      const stream = new PassThrough();
      stream.on("data", (chunk: Buffer) => add(chunk.toString()));
      return stream;
    };
    this.context = {
      world: this.world,
      cwd: "/project",
      output: into((text) => (this.#out += text)),
      errorOutput: into((text) => (this.#err += text)),
      columns: 100,
      palette: createPalette(false),
      keyring: KEYRING,
    };
  }

  static async open(more: (mcp: ProtectedServer) => object = () => ({})): Promise<Stage> {
    const auth = await authServer();
    const mcp = await protectedServer({ authServers: [auth], scopes: ["mcp"] });
    return new Stage(auth, mcp, more(mcp));
  }

  async login(server: string, values: LoginValues = {}, signal = NEVER): Promise<string> {
    const lines = { input: this.input, isTerminal: false, output: this.context.errorOutput, onInterrupt: () => {} };
    const open = async (page: URL) => {
      this.opened.push(page.href);
      return await this.browse(page);
    };
    await logInHere({ words: [server], values }, this.context, { signal, lines, open });
    return this.out;
  }

  async logout(server: string, values = {}): Promise<string> {
    await logOutHere({ words: [server], values }, this.context, NEVER);
    return this.out;
  }

  get out(): string {
    const text = this.#out;
    this.#out = "";
    return text;
  }

  get err(): string {
    return this.#err;
  }

  async until(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#err);
      if (found) return found[1] ?? found[0];
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mcp[Symbol.asyncDispose]();
    await this.auth[Symbol.asyncDispose]();
    if (this.world.listeners.ports.length > 0) throw new Error("a listener was left open");
  }
}

const PAGE = /^(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)$/mu;

describe("tenon mcp login", () => {
  it("shows the page alone on its line before it opens it, and says what came of it and where it is kept", async () => {
    await using stage = await Stage.open();
    let before = "";
    const { browse } = stage;
    stage.browse = async (page) => {
      before = stage.err;
      return await browse(page);
    };
    const out = await stage.login("web");
    expect(PAGE.exec(before)?.[1]).toBe(stage.opened[0]);
    expect(out).toContain(`✓ Logged in to web at ${stage.auth.issuer}, for mcp`);
    expect(out).toContain("It renews itself");
    expect(out).toContain("whoever can read your files can read them. Why not in the keyring: no keyring here");
    expect(await grantKeyStatus(stage.world)).toMatchObject({ keeper: "file" });
    for (const secret of stage.auth.endpoints.secrets) expect(stage.err + out).not.toContain(secret);
  });

  it("opens nothing with --no-browser, and takes the address that is piped in, wrong ones told apart", async () => {
    await using stage = await Stage.open();
    const done = stage.login("web", { "no-browser": true, json: true });
    const page = await stage.until(PAGE);
    stage.input.write("https://elsewhere.example/?code=1\n\n");
    await stage.until(/That cannot be used: that is another address/u);
    stage.input.write(`${await visit(page)}\n`);
    expect(JSON.parse(await done)).toMatchObject({
      server: "web",
      issuer: stage.auth.issuer,
      resource: stage.mcp.url,
      account: "default",
      scope: "mcp",
      isRenewable: true,
      store: { keeper: "file" },
    });
    expect(stage.opened).toEqual([]);
  });

  it("waits for the browser though nothing can be typed, and says when none could be opened", async () => {
    await using stage = await Stage.open();
    stage.input.end();
    stage.browse = async () => "spawn xdg-open ENOENT";
    const done = stage.login("web");
    await stage.until(/No browser could be opened \(spawn xdg-open ENOENT\): open it yourself/u);
    stage.world.listeners.visit(String(await visit(await stage.until(PAGE))));
    expect(await done).toContain("Logged in to web");
  });

  it("shows page and code for a device", async () => {
    await using stage = await Stage.open();
    stage.auth.script({ device: { approvedAtPoll: 1, intervalSeconds: 0 } });
    const done = stage.login("web", { device: true });
    await stage.until(/type the code (\S+) within \d+ min/u);
    const progress = { isOver: false };
    const over = done.finally(() => (progress.isOver = true));
    while (!progress.isOver) {
      await stage.world.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await over).toContain("Logged in to web");
    expect(stage.opened).toEqual([]);
  });

  it("keeps accounts apart: of the entry, of the command line, of a server an editor hands over", async () => {
    await using stage = await Stage.open();
    const accounts = [];
    for (const [server, values] of [
      ["web", {}],
      ["work", {}],
      ["web", { account: "other" }],
      [stage.mcp.url, {}],
    ] as const) {
      const { account } = JSON.parse(await stage.login(server, { ...values, json: true }));
      accounts.push(account);
    }
    expect(accounts).toEqual(["default", "work", "other", "@client"]);
  });

  it.each([
    ["nobody", {}, "config.invalid", /no server "nobody"/u],
    ["local", {}, "config.invalid", /runs on this machine: it has no log-in/u],
    ["token", {}, "config.invalid", /is given its token by its entry/u],
    ["theirs", {}, "config.invalid", /not trusted yet/u],
    ["web", { timeout: "soon" }, "usage.invalid", /--timeout must be a number of seconds/u],
    ["web", { timeout: "99999" }, "usage.invalid", /--timeout must be a number of seconds/u],
  ])("says why there is nothing to do for %s %o", async (server, values, code, message) => {
    await using stage = await Stage.open();
    await expect(stage.login(server, values)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(stage.opened).toEqual([]);
  });

  it("gives up after --timeout as an authentication that failed, and with the signal", async () => {
    await using stage = await Stage.open();
    stage.browse = async () => undefined; // nobody comes back
    const late = stage.login("web", { timeout: "30" }).catch((error: unknown) => error);
    await stage.until(PAGE);
    await stage.world.advance(30_000);
    expect(await late).toMatchObject({
      code: "mcp.unauthorized",
      message: 'nobody logged in to "web" within 30 s',
    });
    const controller = new AbortController();
    const stopped = stage.login("web", {}, controller.signal).catch((error: unknown) => error);
    await stage.until(/authorize[\s\S]*authorize/u);
    controller.abort(new Error("stop"));
    expect(await stopped).toMatchObject({ message: "stop" });
  });

  it("is told of a no at the page", async () => {
    await using stage = await Stage.open();
    stage.auth.script({ denies: true });
    await expect(stage.login("web")).rejects.toMatchObject({ code: "mcp.unauthorized" });
  });
});

describe("tenon mcp logout", () => {
  it("revokes and forgets, and says so; a second time there is nothing", async () => {
    await using stage = await Stage.open();
    await stage.login("web");
    await stage.login("work");
    expect(await stage.logout("web")).toContain("Logged out of web at");
    expect(stage.auth.recordsOf("revoke").length).toBeGreaterThan(0);
    expect(await stage.logout("web")).toBe("There is no log-in to web here.\n");
    expect(JSON.parse(await stage.logout("work", { json: true }))).toMatchObject({
      server: "work",
      loggedOut: [{ account: "work", revocation: "done" }],
    });
  });

  it("says when the other side could not be told", async () => {
    await using stage = await Stage.open();
    await stage.login("web");
    stage.auth.misbehave("revoke", { kind: "answer", status: 500 });
    await stage.logout("web");
    expect(stage.err).toContain("could not be revoked there");
    expect(await stage.logout("web")).toContain("There is no log-in");
  });
});

it("says of a keyring what it protects, and of a file that it does not", () => {
  expect(grantKeyText({ keeper: "keyring", reason: "it works" })).toContain("in the system's keyring");
  expect(grantKeyText({ keeper: "file", reason: "there is none" })).toContain(
    "whoever can read your files can read them",
  );
});
