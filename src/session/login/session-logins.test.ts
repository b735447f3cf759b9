// Real authorization and resource servers; the browser's way back is the fake world's loopback.
import { describe, expect, it } from "vitest";
import { DiskGrantStore } from "../../config/index.js";
import { type ConnectionState, type ElicitAnswer, McpConnection, type ServerSpec } from "../../mcp/index.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { type AuthServer, authServer, type ProtectedServer, protectedServer, visit } from "../../testing/lab/index.js";
import type { ElicitQuestion, SessionPorts } from "../ports.js";
import { serverLogin } from "../servers/server-login.js";
import { type LoginTarget, SessionLogins } from "./session-logins.js";

const NEVER = new AbortController().signal;
const CLIENT = { name: "t", version: "1" };

class Stage implements AsyncDisposable {
  readonly world: FakeWorld = fakeWorld();
  readonly auth: AuthServer;
  readonly mcp: ProtectedServer;
  readonly asked: ElicitQuestion[] = [];
  readonly completed: string[] = [];
  readonly settled: string[] = [];
  readonly notices: string[] = [];
  readonly target: LoginTarget;
  readonly logins: SessionLogins;
  /** What the person says to each question; by default they go to the page. */
  answer: (question: ElicitQuestion) => Promise<ElicitAnswer> = async ({ request }) => {
    await this.browse(request.url ?? "");
    return { action: "accept" };
  };
  modes: SessionPorts["elicitModes"] = ["form", "url"];

  constructor(auth: AuthServer, mcp: ProtectedServer) {
    this.auth = auth;
    this.mcp = mcp;
    const { world } = this;
    const store = new DiskGrantStore({ world, dir: "/state/grants", keyring: "none" });
    const spec: ServerSpec = { kind: "http", name: "web", url: mcp.url, headers: {} };
    const allowHosts = [auth.host];
    const login = serverLogin({ spec, origin: "client", settings: { allowHosts } }, store);
    if (!login) throw new Error("one can log in to it");
    const connection = new McpConnection(spec, { world, cwd: "/", client: CLIENT, allowHosts, oauth: login.oauth });
    connection.start();
    this.target = { connection, source: { origin: "client" }, login };
    this.logins = new SessionLogins({
      world,
      servers: {
        open: [this.target],
        connected: async () => {
          this.settled.push("settled");
        },
      },
      ports: () => this.#ports(),
      onNotice: (_level, text) => this.notices.push(text),
    });
  }

  static async open(): Promise<Stage> {
    const auth = await authServer();
    const stage = new Stage(auth, await protectedServer({ authServers: [auth], scopes: ["mcp"] }));
    await stage.until("failed");
    stage.logins.onStatus({ name: "web", origin: "client", state: "failed", toolCount: 0, needsLogin: true });
    return stage;
  }

  async until(kind: ConnectionState["kind"]): Promise<void> {
    await this.target.connection.state.until((state) => state.kind === kind, NEVER);
  }

  /** As a browser on this machine would. */
  async browse(page: string): Promise<void> {
    this.world.listeners.visit(String(await visit(page)));
  }

  #ports(): SessionPorts {
    return {
      ask: async () => "no",
      ...(this.modes ? { elicitModes: this.modes } : {}),
      elicit: async (question) => {
        this.asked.push(question);
        return await this.answer(question);
      },
      elicitationCompleted: (id) => this.completed.push(id),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.logins[Symbol.asyncDispose]();
    await this.target.connection.close();
    await this.mcp[Symbol.asyncDispose]();
    await this.auth[Symbol.asyncDispose]();
    if (this.world.listeners.ports.length > 0) throw new Error("a listener was left open");
  }
}

describe("at the start of a turn", () => {
  it("the person is led to the page, comes back, and the server is connected", async () => {
    await using stage = await Stage.open();
    await stage.logins.ask(NEVER);
    await stage.until("ready");
    const [question] = stage.asked;
    expect(question).toMatchObject({ server: "web", request: { mode: "url" } });
    expect(question?.request.message).toContain(`Log in to the MCP server "web" at ${stage.auth.host}`);
    expect(question?.request.url).toContain("/authorize?");
    expect(stage.completed).toEqual([question?.id]);
    expect(stage.notices).toEqual([]);
  });

  it("a no is a no for this refusal: it is told once and not asked again", async () => {
    await using stage = await Stage.open();
    stage.answer = async () => ({ action: "decline" });
    await stage.logins.ask(NEVER);
    await stage.logins.ask(NEVER);
    expect(stage.asked).toHaveLength(1);
    expect(stage.notices).toEqual([expect.stringMatching(/not logged in to "web": .*declined.*\/mcp login web/u)]);
    stage.logins.onStatus({ name: "web", origin: "client", state: "ready", toolCount: 1 });
    stage.logins.refused("web");
    await stage.logins.ask(NEVER);
    expect(stage.asked).toHaveLength(2);
  });

  it("nobody is asked where the client shows no pages, and nothing is done where no log-in is needed", async () => {
    await using stage = await Stage.open();
    stage.modes = ["form"];
    await stage.logins.ask(NEVER);
    expect(stage.asked).toEqual([]);
    stage.modes = ["url"];
    await stage.logins.ask(NEVER);
    await stage.until("ready");
    await stage.logins.ask(NEVER);
    expect(stage.asked).toHaveLength(1);
  });

  it("a turn that is cancelled leaves the log-in to the person, who may still finish it", async () => {
    await using stage = await Stage.open();
    const turn = new AbortController();
    let page = "";
    stage.answer = async ({ request }) => {
      page = request.url ?? "";
      turn.abort();
      return { action: "accept" };
    };
    await stage.logins.ask(turn.signal);
    expect(stage.target.connection.state.value.kind).toBe("failed");
    await stage.browse(page);
    await stage.until("ready");
    expect(stage.notices).toEqual([]);
  });

  it("a turn waits for the person, but not without end", async () => {
    await using stage = await Stage.open();
    let isShown: () => void = () => {};
    const shown = new Promise<void>((resolve) => (isShown = resolve));
    stage.answer = async () => {
      isShown();
      return { action: "accept" };
    };
    let isWaiting = true;
    const asking = stage.logins.ask(NEVER).finally(() => (isWaiting = false));
    await shown;
    await stage.world.advance(119_000);
    expect(isWaiting).toBe(true);
    await stage.world.advance(1_000);
    await asking;
    expect(stage.world.listeners.ports).toHaveLength(1); // the person may still come back
  });
});

describe("a server that somebody has logged in to elsewhere", () => {
  it("is tried again and waited for, and nobody is asked", async () => {
    await using stage = await Stage.open();
    const { spec } = stage.target.connection;
    const connection = new McpConnection(spec, { world: stage.world, cwd: "/", client: CLIENT });
    const elsewhere = new SessionLogins({
      world: stage.world,
      servers: { open: [{ ...stage.target, connection }], connected: async () => {} },
      ports: () => undefined,
      onNotice: () => {},
    });
    const show = (text: string) => stage.browse(/<(http\S+)>/u.exec(text)?.[1] ?? "");
    expect(await elsewhere.login("web", { show, isPasted: false }, NEVER)).toMatchObject({ ok: true });
    await stage.logins.ask(NEVER);
    expect(stage.settled).toEqual(["settled"]);
    await stage.until("ready");
    expect(stage.asked).toEqual([]);
    await elsewhere[Symbol.asyncDispose]();
  });

  it("is asked about once when its log-in is refused, though the connection stands", async () => {
    await using stage = await Stage.open();
    await stage.logins.ask(NEVER);
    await stage.until("ready");
    await stage.logins.ask(NEVER);
    stage.logins.refused("web"); // a call wanted more
    await stage.logins.ask(NEVER);
    await stage.logins.ask(NEVER);
    expect(stage.asked).toHaveLength(2);
  });
});

describe("/mcp login", () => {
  const talk = (said: string[], isPasted = false) => ({
    isPasted,
    show: async (text: string) => {
      said.push(text);
    },
  });

  it("says the page in the conversation where the client cannot lead there", async () => {
    await using stage = await Stage.open();
    stage.modes = [];
    expect(stage.target.connection.lastError?.message).toContain(`log in with \`tenon mcp login ${stage.mcp.url}\``);
    const said: string[] = [];
    const show = async (text: string) => {
      said.push(text);
      await stage.browse(/<(http\S+)>/u.exec(text)?.[1] ?? "");
    };
    const done = await stage.logins.login("web", { show, isPasted: false }, NEVER);
    expect(done).toEqual({ ok: true, text: expect.stringContaining(`Logged in to "web" at ${stage.auth.issuer}`) });
    expect(said[0]).toContain(`tenon mcp login ${stage.mcp.url}`);
    await stage.until("ready");
  });

  it("asks for the address where the browser is on another machine, until it is one", async () => {
    await using stage = await Stage.open();
    let page = "";
    const typed = ["https://elsewhere.example/?code=1"];
    stage.answer = async ({ request }) => {
      if (request.mode === "url") {
        page = request.url ?? "";
        return { action: "accept" };
      }
      return { action: "accept", content: { address: typed.shift() ?? String(await visit(page)) } };
    };
    expect(await stage.logins.login("web", talk([], true), NEVER)).toMatchObject({ ok: true });
    expect(stage.asked.map(({ request }) => request.mode)).toEqual(["url", "form", "form"]);
    expect(stage.asked[2]?.request.message).toContain("That cannot be used: that is another address");
  });

  it("asks again after a no, and says why nothing came of it", async () => {
    await using stage = await Stage.open();
    stage.answer = async () => ({ action: "decline" });
    await stage.logins.ask(NEVER);
    expect(await stage.logins.login("web", talk([]), NEVER)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/declined/u),
    });
    stage.auth.script({ denies: true });
    stage.answer = async ({ request }) => {
      await stage.browse(request.url ?? "");
      return { action: "accept" };
    };
    expect(await stage.logins.login("web", talk([]), NEVER)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/access_denied|denied/u),
    });
  });

  it("takes the place of one that was offered and is still open", async () => {
    await using stage = await Stage.open();
    const turn = new AbortController();
    stage.answer = async () => {
      turn.abort();
      return { action: "accept" };
    };
    await stage.logins.ask(turn.signal);
    stage.answer = async ({ request }) => {
      await stage.browse(request.url ?? "");
      return { action: "accept" };
    };
    expect(await stage.logins.login("web", talk([]), NEVER)).toMatchObject({ ok: true });
  });

  it("lets go of a turn that is cancelled, without a fault", async () => {
    await using stage = await Stage.open();
    const turn = new AbortController();
    stage.answer = async () => {
      turn.abort();
      return { action: "accept" };
    };
    expect(await stage.logins.login("web", talk([]), turn.signal)).toMatchObject({
      ok: false,
      reason: expect.stringContaining("not logged in yet"),
    });
  });

  it("says why there is nothing to log in to", async () => {
    await using stage = await Stage.open();
    expect(await stage.logins.login("other", talk([]), NEVER)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/no connected server/u),
    });
    const token: ServerSpec = {
      kind: "http",
      name: "given",
      url: stage.mcp.url,
      headers: { Authorization: "Bearer x" },
    };
    const local: ServerSpec = { kind: "stdio", name: "local", command: "run", args: [], env: {} };
    const targets = [token, local].map((spec): LoginTarget => {
      const connection = new McpConnection(spec, { world: stage.world, cwd: "/", client: CLIENT });
      return { connection, source: { origin: "user" }, login: serverLogin({ spec, origin: "user" }, undefined) };
    });
    const logins = new SessionLogins({
      world: stage.world,
      servers: { open: targets, connected: async () => {} },
      ports: () => undefined,
      onNotice: () => {},
    });
    expect(await logins.login("given", talk([]), NEVER)).toMatchObject({
      reason: expect.stringMatching(/token by its configuration/u),
    });
    expect(await logins.login("local", talk([]), NEVER)).toMatchObject({ reason: expect.stringMatching(/no log-in/u) });
  });
});

describe("for a client that opens the page itself", () => {
  it("the page is given at once, whatever the client shows, and the log-in ends when the person is back", async () => {
    await using stage = await Stage.open();
    const page = await stage.logins.page("web");
    expect(page).toMatchObject({ url: expect.stringContaining("/authorize?") });
    expect(stage.asked).toEqual([]);
    await stage.browse("url" in page ? page.url : "");
    await stage.until("ready");
  });

  it("there is a reason where there is no page", async () => {
    await using stage = await Stage.open();
    expect(await stage.logins.page("none")).toEqual({ reason: 'this session has no connected server "none"' });
    const pages = await Promise.all([stage.logins.page("web"), stage.logins.page("web")]); // the later one counts
    expect(pages).toEqual([{ reason: "begun anew" }, { url: expect.stringContaining("/authorize?") }]);
  });
});
