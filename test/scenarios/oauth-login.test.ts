// Logging in on the command line: every way to be known to a server, every way to finish, and what is shown on the way.
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { QUIET_MS } from "../../src/cli/terminal/live/menu.js";
import { echoTool } from "../../src/testing/index.js";
import { authServer, logIn, visit } from "../../src/testing/lab/index.js";
import { OAuthStage, type StageOptions } from "./oauth/stage.js";
import { scenario } from "./scenario.js";

const URL_SHOWN = /^\s*(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)$/mu;

/** What the server says to whoever is logged in. */
async function whoami(stage: OAuthStage, server = "web"): Promise<string> {
  const { stdout, stderr } = await stage.tenon(["chat", "-p", `mcp__${server}__whoami`, "--yes"]);
  return `${stdout}${stderr}`;
}

scenario(
  ["U1", "U2", "U10"],
  "the browser is opened at the page that was shown, comes back, and the server's tools work from then on",
  async () => {
    await using stage = await OAuthStage.open({ server: { scopes: ["mcp"] } });
    const before = await whoami(stage);
    expect(before).toContain("tenon mcp login web");
    expect(stage.auth.recordsOf("authorize")).toEqual([]);

    const login = stage.start(["mcp", "login", "web"]);
    const url = await login.says(URL_SHOWN);
    const { code, stdout, stderr } = await login.done;
    expect(code, stdout + stderr).toBe(0);
    expect(stage.browsed).toEqual([[url]]);
    const [authorization] = stage.auth.recordsOf("authorize");
    expect(authorization?.params).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      resource: stage.mcp.url,
      scope: "mcp",
    });
    expect(stage.auth.recordsOf("register")).toMatchObject([
      { json: { client_name: expect.stringContaining("Tenon") } },
    ]);
    expect(await whoami(stage)).toContain("you are alice");
    expect(stage.auth.recordsOf("authorize")).toHaveLength(1);
    expect(stage.leaks(stdout, stderr)).toEqual([]);
  },
);

scenario(["U2", "U1"], "a second log-in needs no second registration", async () => {
  await using stage = await OAuthStage.open();
  await stage.login();
  await stage.login();
  expect(stage.auth.recordsOf("register")).toHaveLength(1);
  expect(stage.auth.recordsOf("authorize")).toHaveLength(2);
});

const PLACES: readonly (readonly [string, StageOptions])[] = [
  ["metadata at the root of the server", { server: { metadataAt: "root" } }],
  ["no header that says where", { server: { metadataUrl: null } }],
  ["an issuer with a path", { auth: { issuerPath: "/tenant/one" } }],
  ["OpenID metadata only", { auth: { metadataAt: ["oidc"], issuerPath: "/realm" } }],
  ["a client secret from registration", { auth: { registration: "secret" } }],
];

scenario(["U1"], "wherever the metadata is, it is found", async () => {
  for (const [name, options] of PLACES) {
    await using stage = await OAuthStage.open(options);
    await stage.login();
    expect(await whoami(stage), name).toContain("you are alice");
  }
});

scenario(
  ["U1"],
  "both eras and the older transport: whichever the server speaks, it is logged in to and called",
  async () => {
    const tools = [echoTool()];
    const kinds: readonly (readonly [string, StageOptions["server"]])[] = [
      ["http", { behaviour: { era: "modern", tools } }],
      ["http", { behaviour: { era: "dual", tools }, http: { streamsAnswers: true, hasListenStream: true } }],
      ["sse", { behaviour: { tools }, http: { transport: "sse" } }],
    ];
    for (const [type, server] of kinds) {
      await using stage = await OAuthStage.open({ server: { ...server, scopes: ["mcp"] } });
      stage.configure({ web: { type } });
      await stage.login();
      const asked = ["chat", "-p", 'mcp__web__echo {"text":"heard you"}', "--yes"];
      const { stdout, stderr } = await stage.tenon(asked);
      expect(stdout, `${type} ${JSON.stringify(server)}: ${stderr}`).toContain("heard you");
      stage.auth.endpoints.tokens.expireAccess();
      expect((await stage.tenon(asked)).stdout, `${type} after expiry`).toContain("heard you");
      expect(stage.auth, type).toMatchObject({ refreshCount: 1, reuseCount: 0 });
    }
  },
);

scenario(["U8", "U1"], "a server that moves to another authorization server: the old tokens stay behind", async () => {
  await using stage = await OAuthStage.open();
  await stage.login();
  await using next = await authServer({ account: "erin" });
  stage.mcp.script({ authServers: [next] });
  stage.configure({ web: {} }, { allowHosts: [stage.auth.host, stage.mcp.host, next.host] });
  expect(await whoami(stage)).toContain("tenon mcp login web");
  await stage.login();
  expect(await whoami(stage)).toContain("you are erin");
  const sent = next.records.flatMap(({ params, headers }) => [...Object.values(params), String(headers.authorization)]);
  for (const secret of stage.auth.endpoints.secrets) expect(sent.join(" ")).not.toContain(secret);
  expect(stage.leaks()).toEqual([]);
});

scenario(["U4"], "tenon mcp test says that a log-in is wanted, with the command and the exit code for it", async () => {
  await using stage = await OAuthStage.open();
  const test = await stage.tenon(["mcp", "test", "web"]);
  expect(test.stdout + test.stderr).toContain("tenon mcp login web");
  expect(test.code).toBe(4);
  await stage.login();
  expect((await stage.tenon(["mcp", "test", "web"])).code).toBe(0);
});

scenario(
  ["U4", "U10"],
  "in the terminal chat the page is shown in full, and with the person's yes the tools come",
  async () => {
    await using stage = await OAuthStage.open();
    const chat = stage.startInTerminal(["chat", "--yes", "--model", "offline/operator"]);
    await chat.says(/Type a prompt/u);
    chat.types("mcp__web__whoami");
    const url = await chat.says(/(http:\/\/127\.0\.0\.1:\d+\/authorize\?[\w.~%&=+:-]+)/u);
    await chat.says(/1\. I open it/u);
    await delay(QUIET_MS * 2); // what comes sooner was typed before the question
    chat.types("y");
    await logIn(url);
    await chat.says(/you are alice/u);
    chat.types("/exit");
    expect((await chat.done).code).toBe(0);
    expect(stage.leaks(chat.stdout)).toEqual([]);
  },
  { needs: ["script"], platform: "linux" },
);

scenario(["U1", "U5"], "a client of the user's own, public or with a secret, is used as it is registered", async () => {
  const redirectUris = ["http://127.0.0.1/callback"];
  const methods = ["none", "client_secret_basic", "client_secret_post"] as const;
  for (const authMethod of methods) {
    const clientSecret = authMethod === "none" ? {} : { clientSecret: "the/secret+of:mine" };
    const client = { clientId: "mine", redirectUris, authMethod, ...clientSecret };
    const metadata = { token_endpoint_auth_methods_supported: [authMethod] };
    await using stage = await OAuthStage.open({ auth: { registration: "none", clients: [client], metadata } });
    stage.configure({ web: { oauth: { clientId: "mine", ...clientSecret } } });
    await stage.login();
    expect(await whoami(stage), authMethod).toContain("you are alice");
    expect(stage.auth.recordsOf("register")).toEqual([]);
    if (authMethod !== "none") stage.configure({ web: { oauth: { clientId: "mine" } } }); // the user's own file may hold it
    if (authMethod !== "none") expect(stage.leaks()).toEqual([]);
  }
});

scenario(["U1"], "a client id metadata document takes the place of a registration where it is taken", async () => {
  const document = "https://tenon.example/client.json";
  const clientDocuments = { [document]: { redirect_uris: ["http://127.0.0.1/callback"] } };
  await using stage = await OAuthStage.open({ auth: { clientDocuments } });
  stage.configure({ web: { oauth: { clientMetadataUrl: document } } });
  await stage.login();
  expect(await whoami(stage)).toContain("you are alice");
  expect(stage.auth.recordsOf("register")).toEqual([]);
  expect(stage.auth.recordsOf("authorize")).toMatchObject([{ params: { client_id: document } }]);
});

scenario(
  ["U3", "U10"],
  "where no browser comes back, the pasted address finishes it; wrong ones are told apart",
  async () => {
    await using stage = await OAuthStage.open();
    const login = stage.start(["mcp", "login", "web", "--no-browser"]);
    const url = await login.says(URL_SHOWN);
    login.types("https://example.com/somewhere?code=x&state=y");
    await login.says(/another address/u);
    // None of these may end the log-in.
    login.types("hello");
    await login.says(/no code, and no address|code alone does not do/u);
    const redirect = new URL(new URL(url).searchParams.get("redirect_uri") ?? "");
    login.types(`${redirect.href}?code=guessed&state=other`);
    await login.says(/answer to another log-in/u);
    login.types(`${redirect.href}?code=guessed&state=${new URL(url).searchParams.get("state") ?? ""}`);
    await login.says(/copy all of it/u);
    login.types(await visit(url));
    const { code, stdout, stderr } = await login.done;
    expect(code, stdout + stderr).toBe(0);
    expect(stage.browsed).toEqual([]);
    expect(await whoami(stage)).toContain("you are alice");
    expect(stage.leaks(stdout, stderr)).toEqual([]);
  },
);

scenario(["U8", "U2"], "an answer to somebody else's log-in is not taken, and the right one still is", async () => {
  await using stage = await OAuthStage.open();
  const login = stage.start(["mcp", "login", "web", "--no-browser"]);
  const url = new URL(await login.says(URL_SHOWN));
  const back = new URL(await visit(url));
  const forged = new URL(back);
  forged.searchParams.set("state", "another");
  expect((await fetch(forged)).status).toBe(400);
  expect(stage.auth.recordsOf("token")).toEqual([]);
  expect((await logIn(url)).status).toBe(200);
  expect((await login.done).code).toBe(0);
});

scenario(["U5"], "client credentials log in by themselves: with a secret, with a signed assertion", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const clients = [
    { clientId: "robot", clientSecret: "robots-own-secret-1" },
    { clientId: "signer", authMethod: "private_key_jwt", publicKey: pem },
  ] as const;
  await using stage = await OAuthStage.open({ auth: { registration: "none", clients }, server: { scopes: ["mcp"] } });
  const keyFile = join(stage.home.path, "key.pem");
  writeFileSync(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const grant = "client_credentials";
  stage.configure({
    secret: { oauth: { grant, clientId: "robot", clientSecret: "${ROBOT_SECRET}", scopes: ["mcp"] } },
    signed: { oauth: { grant, clientId: "signer", privateKey: `{file:${keyFile}}`, scopes: ["mcp"] } },
  });
  for (const [server, account] of [
    ["secret", "robot"],
    ["signed", "signer"],
  ] as const) {
    const env = { ROBOT_SECRET: "robots-own-secret-1" };
    const { stdout, stderr } = await stage.tenon(["chat", "-p", `mcp__${server}__whoami`, "--yes"], env);
    expect(stdout + stderr).toContain(`you are ${account}`);
  }
  const asked = stage.auth.recordsOf("token", "client_credentials");
  expect(asked.map(({ params }) => params["resource"])).toEqual(asked.map(() => stage.mcp.url));
  expect(stage.auth.recordsOf("authorize")).toEqual([]);
  expect(stage.browsed).toEqual([]);
  expect(stage.leaks()).toEqual([]);
});

scenario(["U6"], "the device flow shows page and code, waits, slows down when told, and is done", async () => {
  const device = { approvedAtPoll: 2, slowsDown: true, intervalSeconds: 1 };
  await using stage = await OAuthStage.open({ auth: { device, account: "carol" } });
  const login = stage.start(["mcp", "login", "web", "--device"]);
  await login.says(new RegExp(`(${stage.auth.origin}/activate)`, "u"));
  await login.says(/([0-9A-F]{8})/u);
  const { code, stdout, stderr } = await login.done;
  expect(code, stdout + stderr).toBe(0);
  expect(await whoami(stage)).toContain("you are carol");
  expect(stage.leaks(stdout, stderr)).toEqual([]);
});

scenario(["U2"], "who says no at the page is told so, and the exit code is 4", async () => {
  await using stage = await OAuthStage.open({ auth: { denies: true } });
  const login = await stage.tenon(["mcp", "login", "web"]);
  expect(login.code).toBe(4);
  expect(login.stderr).toContain("access_denied");
  expect(stage.auth.recordsOf("token")).toEqual([]);
});

scenario(["U17", "U15"], "logging out revokes at the server and forgets here, also when nobody answers", async () => {
  await using stage = await OAuthStage.open();
  await stage.login();
  expect((await stage.tenon(["mcp", "logout", "web"])).code).toBe(0);
  expect(stage.auth.endpoints.tokens.all.map(({ state }) => state)).toEqual(["revoked", "revoked"]);
  expect(await whoami(stage)).toContain("tenon mcp login web");

  await stage.login();
  stage.auth.misbehave("revoke", { kind: "reset" });
  const { code, stdout, stderr } = await stage.tenon(["mcp", "logout", "web"]);
  expect(stdout + stderr).toMatch(/not.*revoked|could not|cannot/iu);
  expect(code).toBe(0);
  expect(await whoami(stage)).toContain("tenon mcp login web");
  expect(stage.leaks()).toEqual([]);
});

scenario(["U2"], "a log-in that is interrupted ends at once with 130 and leaves nothing", async () => {
  await using stage = await OAuthStage.open();
  const login = stage.start(["mcp", "login", "web", "--no-browser"]);
  await login.says(URL_SHOWN);
  login.kill("SIGINT");
  expect((await login.done).code).toBe(130);
});
