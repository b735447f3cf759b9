// Log-ins inside a session: asked through the editor, more scopes, tokens that end under way, accounts, where they are kept.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientApp, type CreateElicitationRequest, methods } from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import type { AcpClient } from "../../src/testing/index.js";
import { canary, logIn } from "../../src/testing/lab/index.js";
import { filesUnder, OAuthStage } from "./oauth/stage.js";
import { scenario } from "./scenario.js";
import { SECRET_SERVICE, SecretService } from "./secret-service.js";

const SHOWS_PAGES = { session: { notices: {} }, elicitation: { url: {} } };

/** Whoever sits at the editor: goes to every page, or declines. */
function person(answer: "accept" | "decline" = "accept") {
  const asked: CreateElicitationRequest[] = [];
  const extend = (app: ClientApp) =>
    app.onRequest(methods.client.elicitation.create, async ({ params }) => {
      asked.push(params);
      if (answer === "accept" && params.mode === "url") await logIn(String(params.url));
      return { action: answer };
    });
  return { asked, extend };
}

function notices(client: AcpClient, id: string): string {
  return JSON.stringify(client.updates(id).filter(({ sessionUpdate }) => sessionUpdate === "notice"));
}

/** A server that was never reached before has tools only once it is. */
async function untilReady(client: AcpClient, id: string, name: string): Promise<void> {
  const isReady = new RegExp(`"name":"${name}".*"state":"ready"`, "u");
  await client.waitForUpdate(id, (update) => isReady.test(JSON.stringify(update._meta ?? {})));
}

/** The text of every call that failed. */
function failures(client: AcpClient, id: string): string {
  return JSON.stringify(client.updates(id).filter((update) => "status" in update && update.status === "failed"));
}

scenario(
  ["U4", "U15"],
  "the page reaches the person through the editor, and the tools are there in the same session",
  async () => {
    await using stage = await OAuthStage.open({ server: { scopes: ["mcp"] } });
    const { asked, extend } = person();
    {
      await using client = await stage.agent({ extend });
      await client.initialize({ clientCapabilities: SHOWS_PAGES });
      const { sessionId } = await client.newSession({ cwd: stage.home.path });
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId)).toContain("you are alice");
      expect(asked).toHaveLength(1);
      expect(asked[0]).toMatchObject({
        mode: "url",
        sessionId,
        url: expect.stringContaining(`${stage.auth.origin}/authorize?`),
      });
      expect(asked[0]?.message).toContain("web");
      expect(stage.leaks(client.stderr(), ...client.lines.map(({ text }) => text))).toEqual([]);
    }
    expect(stage.browsed).toEqual([]);
  },
);

scenario(
  ["U4"],
  "a client that shows no pages gets a notice with the command; after it the session goes on",
  async () => {
    await using stage = await OAuthStage.open();
    await using client = await stage.agent();
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: stage.home.path });
    await client.prompt(sessionId, "mcp__web__whoami");
    expect(notices(client, sessionId)).toContain("tenon mcp login web");
    expect(stage.auth.recordsOf("authorize")).toEqual([]);
    await stage.login();
    await untilReady(client, sessionId, "web");
    await client.prompt(sessionId, "mcp__web__whoami");
    expect(client.text(sessionId)).toContain("you are alice");
  },
);

scenario(["U4"], "who declines is not asked again at every call, and is told how to log in later", async () => {
  await using stage = await OAuthStage.open();
  const { asked, extend } = person("decline");
  await using client = await stage.agent({ extend });
  await client.initialize({ clientCapabilities: SHOWS_PAGES });
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  await client.prompt(sessionId, "mcp__web__whoami");
  await client.prompt(sessionId, "mcp__web__whoami");
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(client.updates(sessionId))).toContain("tenon mcp login web");
  expect(stage.auth.recordsOf("token")).toEqual([]);
});

scenario(["U7"], "a tool that needs more leads to one log-in with all scopes, and then works", async () => {
  await using stage = await OAuthStage.open({ server: { scopes: ["mcp"], toolScopes: { echo: ["write"] } } });
  await stage.login();
  const { asked, extend } = person();
  await using client = await stage.agent({ extend });
  await client.initialize({ clientCapabilities: SHOWS_PAGES });
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  // The first call may end with what is missing; the person is asked by the next turn at the latest.
  await client.prompt(sessionId, 'mcp__web__echo {"text":"stepping up"}');
  await client.prompt(sessionId, 'mcp__web__echo {"text":"stepped up"}');
  expect(client.text(sessionId)).toContain('{"text":"stepped up"}');
  expect(asked).toHaveLength(1);
  const [, second] = stage.auth.recordsOf("authorize");
  expect(second?.params["scope"]?.split(" ").sort()).toEqual(["mcp", "write"]);
  await client.prompt(sessionId, 'mcp__web__echo {"text":"again"}');
  expect(asked).toHaveLength(1);
});

scenario(["U7", "U4"], "without pages the missing scope is told with the command, which asks for it", async () => {
  await using stage = await OAuthStage.open({ server: { scopes: ["mcp"], toolScopes: { echo: ["write"] } } });
  await stage.login();
  await using client = await stage.agent();
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  await client.prompt(sessionId, 'mcp__web__echo {"text":"stepped up"}');
  expect(failures(client, sessionId)).toContain("tenon mcp login web");
  expect(client.text(sessionId)).not.toContain("stepped up");
  await client.prompt(sessionId, "mcp__web__whoami");
  expect(client.text(sessionId)).toContain("you are alice");
  await stage.login();
  expect(stage.auth.recordsOf("authorize").at(-1)?.params["scope"]?.split(" ").sort()).toEqual(["mcp", "write"]);
  await client.prompt(sessionId, 'mcp__web__echo {"text":"now it goes"}');
  expect(client.text(sessionId)).toContain("now it goes");
});

scenario(["U7"], "a server that is never satisfied is asked a few times, not for ever", async () => {
  await using stage = await OAuthStage.open({
    auth: { scopes: ["mcp"] },
    server: { scopes: ["mcp"], toolScopes: { echo: ["write"] } },
  });
  await stage.login();
  const { asked, extend } = person();
  await using client = await stage.agent({ extend });
  await client.initialize({ clientCapabilities: SHOWS_PAGES });
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  await client.prompt(sessionId, 'mcp__web__echo {"text":"x"}');
  expect(asked.length).toBeLessThanOrEqual(2);
  expect(failures(client, sessionId)).toContain("write");
});

scenario(
  ["U11", "U4"],
  "a token revoked mid-session: the person is asked by the next turn, which then works",
  async () => {
    await using stage = await OAuthStage.open();
    await stage.login();
    const { asked, extend } = person();
    await using client = await stage.agent({ extend });
    await client.initialize({ clientCapabilities: SHOWS_PAGES });
    const { sessionId } = await client.newSession({ cwd: stage.home.path });
    await client.prompt(sessionId, "mcp__web__whoami");
    stage.auth.revokeTokens();
    stage.auth.script({ account: "bob" });
    await client.prompt(sessionId, "mcp__web__whoami");
    await client.prompt(sessionId, "mcp__web__whoami");
    expect(asked).toHaveLength(1);
    expect(client.text(sessionId)).toContain("you are bob");
  },
);

scenario(
  ["U11", "U15", "E10"],
  "a token revoked mid-session is a tool error that says so; after the log-in the next call works",
  async () => {
    await using stage = await OAuthStage.open();
    await stage.login();
    {
      await using client = await stage.agent();
      await client.initialize();
      const { sessionId } = await client.newSession({ cwd: stage.home.path });
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId)).toContain("you are alice");
      stage.auth.revokeTokens();
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(failures(client, sessionId)).toContain("tenon mcp login web");
      stage.auth.script({ account: "bob" });
      await stage.login();
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId)).toContain("you are bob");
      expect(stage.leaks(client.stderr(), ...client.lines.map(({ text }) => text))).toEqual([]);
    }
  },
);

scenario(
  ["U11"],
  "a token that expires and cannot be renewed is told the same way, with and without its hour",
  async () => {
    for (const saysExpiry of [true, false]) {
      const auth = { refreshTokens: "never", accessTokenMs: 1_500, saysExpiry } as const;
      await using stage = await OAuthStage.open({ auth });
      await stage.login();
      await using client = await stage.agent();
      await client.initialize();
      const { sessionId } = await client.newSession({ cwd: stage.home.path });
      await expect
        .poll(() => stage.auth.endpoints.tokens.all.every(({ state }) => state === "expired"), { timeout: 5_000 })
        .toBe(true);
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(JSON.stringify(client.updates(sessionId))).toContain("tenon mcp login web");
      stage.auth.script({ accessTokenMs: 3_600_000 });
      await stage.login();
      await client.prompt(sessionId, "mcp__web__whoami");
      expect(client.text(sessionId)).toContain("you are alice");
    }
  },
);

scenario(["U11"], "an authorization server that is down for a moment does not cost the log-in", async () => {
  await using stage = await OAuthStage.open();
  await stage.login();
  await using client = await stage.agent();
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  await client.prompt(sessionId, "mcp__web__whoami");
  stage.auth.endpoints.tokens.expireAccess();
  stage.auth.misbehave("token", { kind: "answer", status: 503, body: "down" });
  await client.prompt(sessionId, "mcp__web__whoami");
  expect(failures(client, sessionId)).not.toBe("[]");
  stage.auth.behave();
  await client.prompt(sessionId, "mcp__web__whoami");
  expect(client.text(sessionId).match(/you are alice/gu)?.length).toBe(2);
  expect(stage.auth.recordsOf("authorize")).toHaveLength(1);
});

scenario(["U12"], "two accounts at one server are two log-ins, each used where it is named", async () => {
  await using stage = await OAuthStage.open();
  stage.configure({ mine: { account: "private" }, work: { account: "work" } });
  await stage.login("mine");
  stage.auth.script({ account: "bob" });
  await stage.login("work");
  {
    await using client = await stage.agent();
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: stage.home.path });
    for (const [server, account] of [
      ["mine", "alice"],
      ["work", "bob"],
      ["mine", "alice"],
    ] as const) {
      const before = client.text(sessionId).length;
      await client.prompt(sessionId, `mcp__${server}__whoami`);
      expect(client.text(sessionId).slice(before)).toContain(`you are ${account}`);
    }
  }
  await stage.tenon(["mcp", "logout", "mine"]);
  expect((await stage.tenon(["chat", "-p", "mcp__work__whoami", "--yes"])).stdout).toContain("you are bob");
});

scenario(
  ["U12"],
  "a server the editor hands over gets none of the user's tokens, though it has the same URL",
  async () => {
    await using stage = await OAuthStage.open();
    await stage.login();
    stage.configure({ web: { disabled: true } });
    await using client = await stage.agent();
    await client.initialize();
    const { sessionId } = await client.newSession({
      cwd: stage.home.path,
      mcpServers: [{ type: "http", name: "theirs", url: stage.mcp.url, headers: [] }],
    });
    await client.prompt(sessionId, "mcp__theirs__whoami");
    expect(client.text(sessionId)).not.toContain("you are alice");
    expect(JSON.stringify(client.updates(sessionId))).toContain(`tenon mcp login ${stage.mcp.url}`);
    stage.auth.script({ account: "carol" });
    await stage.login(stage.mcp.url);
    await untilReady(client, sessionId, "theirs");
    await client.prompt(sessionId, "mcp__theirs__whoami");
    expect(client.text(sessionId)).toContain("you are carol");
  },
);

scenario(
  ["U16", "U15"],
  "without a keyring log-ins are in encrypted files of mode 0600, and no file holds a token",
  async () => {
    await using stage = await OAuthStage.open({ auth: { registration: "secret" } });
    await stage.login();
    const kept = filesUnder(stage.home.path).filter((path) => path.endsWith(".grant"));
    expect(kept).toHaveLength(1);
    for (const path of filesUnder(join(stage.home.path, "state"))) {
      expect(statSync(path).mode & 0o077, path).toBe(0);
    }
    expect(readFileSync(kept[0] ?? "", "utf8")).toContain("sealed");
    expect(stage.leaks()).toEqual([]);
  },
);

scenario(
  ["U16"],
  "with a keyring the key is kept there, and locked out of it Tenon says so instead of asking for a new log-in",
  async () => {
    await using service = await SecretService.start();
    await using stage = await OAuthStage.open();
    await stage.login("web", [], service.env);
    expect(filesUnder(stage.home.path).filter((path) => path.endsWith(".key"))).toEqual([]);
    const asks = ["chat", "-p", "mcp__web__whoami", "--yes"];
    expect((await stage.tenon(asks, service.env)).stdout).toContain("you are alice");
    await service.lock();
    const { stdout, stderr } = await stage.tenon(asks, service.env);
    expect(stdout + stderr).not.toContain("you are alice");
    expect(stdout + stderr).toContain("keyring");
    expect(stage.auth.recordsOf("authorize")).toHaveLength(1);
  },
  { needs: SECRET_SERVICE, platform: "linux" },
);

scenario(["U15"], "a traced run with a log-in, a refresh and a failure holds none of the secrets", async () => {
  await using stage = await OAuthStage.open({ auth: { registration: "secret" } });
  await stage.login();
  stage.auth.endpoints.tokens.expireAccess();
  const trace = join(stage.home.path, "trace.ndjson");
  const traced = ["--trace", trace];
  const run = await stage.tenon(["chat", "-p", "mcp__web__whoami", "--yes", ...traced]);
  expect(run.stdout, run.stderr).toContain("you are alice");
  stage.auth.revokeTokens();
  await stage.tenon(["chat", "-p", "mcp__web__whoami", "--yes", ...traced]);
  expect(readFileSync(trace, "utf8")).toContain("whoami");
  expect(stage.leaks()).toEqual([]);
});

scenario(
  ["U12"],
  "a project that names the user's server gets none of its tokens, and has a log-in of its own",
  async () => {
    await using stage = await OAuthStage.open();
    await stage.login();
    const project = join(stage.home.path, "project");
    mkdirSync(join(project, ".tenon"), { recursive: true });
    const entry = { type: "http", url: stage.mcp.url };
    writeFileSync(join(project, ".tenon/config.json"), JSON.stringify({ mcpServers: { web: entry } }));
    expect((await stage.tenon(["trust", "approve", "web"], {}, project)).code).toBe(0);
    const asks = ["chat", "-p", "mcp__web__whoami", "--yes"];
    const before = await stage.tenon(asks, {}, project);
    expect(before.stdout).not.toContain("you are");
    expect(before.stdout + before.stderr).toContain("tenon mcp login web");
    for (const { headers } of stage.mcp.http.requests) expect(headers.authorization).toBeUndefined();

    stage.auth.script({ account: "dave" });
    const login = await stage.start(["mcp", "login", "web"], {}, project).done;
    expect(login.code, login.stderr).toBe(0);
    expect((await stage.tenon(asks, {}, project)).stdout).toContain("you are dave");
    expect((await stage.tenon(asks)).stdout).toContain("you are alice");
  },
);

scenario(
  ["U4"],
  "/mcp login says the page in the conversation where the client shows none, and the tools come",
  async () => {
    await using stage = await OAuthStage.open();
    await using client = await stage.agent();
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: stage.home.path });
    const turn = client.prompt(sessionId, "/mcp login web");
    const page = new RegExp(`${stage.auth.origin}/authorize\\?[^\\s<>")]+`, "u");
    await client.waitForUpdate(sessionId, () => page.test(client.text(sessionId)));
    await logIn(page.exec(client.text(sessionId))?.[0] ?? "");
    await turn;
    await untilReady(client, sessionId, "web");
    await client.prompt(sessionId, "mcp__web__whoami");
    expect(client.text(sessionId)).toContain("you are alice");
  },
);

scenario(["U15", "U9"], "a server that redirects a call elsewhere does not get the token carried there", async () => {
  await using stage = await OAuthStage.open();
  await using bird = await canary();
  await stage.login();
  await using client = await stage.agent();
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: stage.home.path });
  await client.prompt(sessionId, "mcp__web__whoami");
  expect(client.text(sessionId)).toContain("you are alice");
  const redirect = { kind: "answer", status: 307, headers: { location: `${bird.origin}/mcp` } } as const;
  stage.mcp.http.misbehave({ method: "tools/call" }, redirect);
  await client.prompt(sessionId, "mcp__web__whoami");
  expect(bird.connections).toBe(0);
});
