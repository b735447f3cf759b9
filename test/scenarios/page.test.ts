// The page in Debian's Chromium, against the built gateway and the offline model.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { ToolScript } from "../../src/testing/index.js";
import { Town } from "../node-town.js";
import { ON_FILES_ONLY } from "../test-store.js";
import { cleanEnv, startTenon } from "./agent.js";
import { DESK, launch, PageStage, PHONE, picture } from "./page/stage.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const NEEDS = { needs: ["chromium"], timeoutMs: 60_000 } as const;

/** Asks for a permission before the call is made. */
const CREATE = 'create_issue titled "Checkout fails in Safari" with high priority';

const CREATE_ISSUE: ToolScript = {
  name: "create_issue",
  description: "Creates an issue in the tracker",
  inputSchema: {
    type: "object",
    properties: { title: { type: "string" }, priority: { type: "string", enum: ["low", "high"] } },
    required: ["title"],
  },
  reply: { kind: "text", text: "Issue 412 was created." },
};

const HOSTILE = [
  "<script>globalThis.canary = 1</script><img src=x onerror='globalThis.canary = 2'>",
  "[press me](javascript:globalThis.canary=3) <javascript:globalThis.canary=4>",
  "![leak](https://evil.example/leak.png) <a href='data:text/html,x'>x</a>",
  "right-to-left \u202Eevil\u202C, isolate \u2066x\u2069, tags \u{E0041}\u{E0042}, entity &#x202e;x",
  "# `</script>` **end**",
].join("\n\n");

/** The offline model repeats what a tool said: so it comes as a result and as markdown of the model. */
const FORECAST: ToolScript = {
  name: "forecast",
  description: "Tells the weather forecast of a town",
  inputSchema: {
    type: "object",
    properties: { town: { type: "string", description: "of which town" }, days: { type: "integer" } },
    required: ["town"],
  },
  annotations: { readOnlyHint: true },
  reply: { kind: "text", text: HOSTILE },
};

const ORDER: ToolScript = {
  name: "order_seeds",
  description: "Orders seeds",
  reply: {
    kind: "ask_client",
    method: "elicitation/create",
    params: {
      message: "How many?",
      requestedSchema: { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] },
    },
  },
};

async function words(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).allTextContents()).join("\n");
}

async function count(page: Page, selector: string): Promise<number> {
  return await page.locator(selector).count();
}

scenario(
  ["G690", "G691", "G692", "G694", "G698", "G700"],
  "a phone answers a question of a session that an editor and a laptop follow; a reload and a killed gateway lose nothing",
  async () => {
    await using stage = await PageStage.start([CREATE_ISSUE, FORECAST]);
    await stage.decorate();
    const sessionId = await stage.newSession("shop");
    const turn = stage.prompt(sessionId, CREATE);
    await stage.asked();
    const laptop = await stage.open(DESK, { name: "laptop" });
    expect(laptop.url()).not.toContain("pair");
    await laptop.getByRole("link", { name: /create_issue/u }).waitFor();
    await laptop.locator(".people", { hasText: "editor" }).first().waitFor();
    expect(await words(laptop, ".row")).toMatch(/create_issue titled.*shop.*1 question/su);
    await picture(laptop, "sessions");
    await laptop.getByRole("link", { name: /create_issue/u }).click();
    await laptop.locator(".tool", { hasText: "tracker / create_issue" }).waitFor();

    // Thumb-sized, whole arguments, nothing beyond the edge; one press answers for everybody.
    const phone = await stage.open(PHONE, { name: "phone" });
    await phone.getByRole("link", { name: /Approvals/u }).click();
    const question = phone.locator(".question-card");
    await question.waitFor();
    expect(await question.textContent()).toMatch(
      /tracker \/ create_issue.*title.*Checkout fails in Safari.*high.*Allow once/su,
    );
    const allow = question.getByRole("button", { name: "Allow once" });
    expect((await allow.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await picture(phone, "approvals");
    await allow.click();
    await phone.getByText("Nothing waits for you").waitFor();
    await turn;
    expect(stage.withdrawn()).toBe(1);
    await laptop.getByText("allowed once by phone").waitFor();
    await laptop.locator(".tool", { hasText: "done" }).waitFor();
    await laptop.locator(".tool-head").click();
    await picture(laptop, "session");
    expect(await words(laptop, ".tool-body")).toContain("Issue 412 was created.");

    // A prompt of the page; reloaded while its question is open.
    await laptop.getByLabel("Message").fill(CREATE);
    await laptop.getByRole("button", { name: "Send" }).click();
    await laptop.locator(".question-card").waitFor();
    await laptop.reload();
    await laptop.locator(".question-card").waitFor();
    await laptop.locator(".item.user").nth(1).waitFor(); // the question may be there before the conversation
    await laptop.locator(".item.tool").nth(1).waitFor();
    expect(await count(laptop, ".item.user")).toBe(2);
    expect(await count(laptop, ".item.tool")).toBe(2);

    // The gateway is killed and comes back: the turn goes on, and so does the page. Browsers tell of every try.
    expect(stage.faults).toEqual([]);
    await stage.restart();
    const allowAgain = laptop.locator(".question-card").getByRole("button", { name: "Allow once" });
    const answered = laptop.locator(".tool:nth-of-type(n) .badge.ok");
    // Until the turn goes on the gateway knows no question of it: who presses before that is told so, and presses again.
    const pressed = async () => {
      if (await allowAgain.isVisible()) await allowAgain.click({ timeout: 1_000 }).catch(() => undefined);
      return await answered.count();
    };
    await expect.poll(pressed, { timeout: 20_000 }).toBe(2);
    expect(await count(laptop, ".item.user")).toBe(2);
    expect(await laptop.locator(".item.agent").allTextContents()).toSatisfy(isWithoutRepeat);

    // By keyboard: the first press selects, the second answers.
    await laptop.getByLabel("Message").fill(CREATE);
    await laptop.keyboard.press("Enter");
    await laptop.keyboard.press("Escape");
    await laptop.locator(".question-card button[data-deny]:enabled").waitFor();
    await laptop.keyboard.press("d");
    expect(await count(laptop, ".question-card:focus")).toBe(1);
    await laptop.keyboard.press("d");
    await laptop.getByText("denied by you").waitFor();
    await laptop.keyboard.press("?");
    await laptop.getByRole("dialog").waitFor();
    expect(stage.faults.filter((fault) => !/ERR_CONNECTION_(?:REFUSED|RESET)/u.test(fault))).toEqual([]);
  },
  NEEDS,
);

/** In the view that shows it: another document would not know what ran in this one. */
async function expectHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(
    "[globalThis.canary, [...document.links].map((link) => link.protocol).filter((one) => !/^https?:$/.test(one)), document.images.length]",
  );
  expect(found).toEqual([undefined, [], 0]);
}

function isWithoutRepeat(texts: readonly string[]): boolean {
  return new Set(texts).size >= texts.length - 1; // the offline model says the same of the same call
}

scenario(
  ["G693", "G694", "G695", "G696", "G700"],
  "hostile output stays text in every view; tools are searched and called; the waterfall has arguments and results",
  async () => {
    await using stage = await PageStage.start([CREATE_ISSUE, FORECAST, ORDER]);
    const sessionId = await stage.newSession("garden");
    const page = await stage.open(DESK, { name: "laptop", sessionId });
    const base = page.url().replace(/#.*$/u, "");
    await page.getByLabel("Message").fill("tell the weather forecast of the town Berlin");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.locator(".tool .badge.ok").waitFor();
    await page.locator(".tool-head").click();
    await page.locator(".tool-body").waitFor();
    const shown = await words(page, ".conversation");
    expect(shown).toContain("\\u{202E}evil\\u{202C}, isolate \\u{2066}x\\u{2069}, tags \\u{E0041}\\u{E0042}");
    expect(shown).toContain("<script>globalThis.canary = 1</script>");
    await expectHarmless(page);

    await page.goto(`${base}#/session/${sessionId}/calls`);
    await page.locator(".span-row", { hasText: "tracker / forecast" }).click();
    expect(await words(page, ".span-detail")).toMatch(/"town": "Berlin".*globalThis\.canary = 1/su);
    await page.locator(".swatch.question").first().waitFor();
    await expectHarmless(page);
    await picture(page, "waterfall");

    await page.goto(`${base}#/session/${sessionId}/tools`);
    await page.getByLabel("Search tools").fill("weather in a town");
    await page.locator(".score").first().waitFor();
    const first = page.locator(".tool-row").first();
    expect(await first.textContent()).toMatch(/forecast.*offered/su);
    await first.click();
    await page.locator(".why").waitFor();
    await page.getByLabel(/town/u).fill("Paris");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByRole("status", { name: "result" }).waitFor();
    expect(await words(page, ".tool-result")).toContain("globalThis.canary = 1");
    await expectHarmless(page);

    // A server asks during a call: the form of its question is filled in.
    await page.goto(`${base}#/session/${sessionId}`);
    await page.getByLabel("Message").fill("order_seeds");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("How many?").waitFor();
    await page.getByLabel("amount").fill("3");
    await page.locator(".question-card").getByRole("button", { name: "Send" }).click();
    await page.locator(".agent", { hasText: '"amount":3' }).waitFor();

    await page.goto(`${base}#/session/${sessionId}/servers`);
    await page.locator(".server-card", { hasText: "ready" }).waitFor();
    await page.getByRole("button", { name: "Restart" }).click();
    await page.locator(".server-card").getByRole("status").waitFor();
    await page.locator(".server-card", { hasText: "ready" }).waitFor();
    for (const view of [
      "sessions",
      "approvals",
      "usage",
      "gateway",
      `session/${sessionId}`,
      `session/${sessionId}/usage`,
    ]) {
      await page.goto(`${base}?gateway=wss://evil.example#/${view}`);
      await page.locator(".view").waitFor();
    }
    await page.setViewportSize(PHONE);
    const parts = ["", "/calls", "/tools", "/servers", "/usage"].map((part) => `session/${sessionId}${part}`);
    for (const view of ["sessions", "approvals", "usage", "gateway", ...parts]) {
      await page.goto(`${base}#/${view}`);
      await page.locator(".view").waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth"), view).toBeLessThanOrEqual(PHONE.width);
      const inner = await page.evaluate("document.querySelector('.main').scrollWidth");
      expect(inner, view).toBeLessThanOrEqual(PHONE.width);
      await expectHarmless(page);
    }
    expect(stage.hosts).toEqual(new Set([new URL(base).host]));
    expect(stage.faults).toEqual([]);
  },
  NEEDS,
);

scenario(
  ["G697", "G698", "G701"],
  "a session that another process has is shown from its journal; a reader is offered nothing more; a code is good once",
  async () => {
    await using stage = await PageStage.start([CREATE_ISSUE]);
    const editor = await startTenon(stage.home, { permissions: "allow" });
    await editor.initialize();
    const { sessionId } = await editor.newSession({ cwd: stage.home.path });
    await editor.prompt(sessionId, CREATE);
    const page = await stage.open(DESK, { name: "laptop", sessionId });
    await page.getByText(/process \d+ has this session open/u).waitFor();
    await page.locator(".tool .badge.ok", { hasText: "done" }).waitFor();
    expect(await words(page, ".item.user")).toContain(CREATE);
    expect(await count(page, "text=Open it")).toBe(0);
    await editor.prompt(sessionId, CREATE); // as it is written
    await page.locator(".tool .badge.ok").nth(1).waitFor();
    await page.getByLabel("Message").fill("hello");
    await page.keyboard.press("Enter");
    await page
      .getByRole("alert")
      .getByText(/process/u)
      .waitFor();
    await picture(page, "journal");
    await editor.end();

    const reader = await stage.open(PHONE, { name: "reader", scopes: ["read"], sessionId });
    await reader.locator(".item.user").first().waitFor();
    expect(await count(reader, ".composer")).toBe(0);
    expect(await count(reader, "text=Open it")).toBe(0);
    await reader.getByRole("link", { name: "Gateway" }).click();
    await reader.getByText("Only a log-in with the scope admin sees them.").waitFor();

    const { url } = await stage.ask("_tenon/gateway/page", { name: "first" });
    const [one, two] = [await stage.fresh(), await stage.fresh()];
    await one.goto(url);
    await one.getByRole("navigation", { name: "Views" }).waitFor();
    expect(stage.faults).toEqual([]);
    await two.goto(url);
    await two.getByRole("alert").waitFor();
    expect(two.url()).not.toContain("pair");
    expect(await count(two, ".nav")).toBe(0);

    // By a token; what is revoked in the view of the gateway is out within a second.
    const { token } = await stage.ask("_tenon/gateway/tokens", { action: "create", name: "tablet", scopes: ["read"] });
    await two.getByLabel("Token or pairing code").fill(token);
    await two.getByRole("button", { name: "Log in" }).click();
    await two.getByRole("navigation", { name: "Views" }).waitFor();
    await page.getByRole("link", { name: "Gateway" }).click();
    await page.locator(".row", { hasText: "first" }).getByRole("button", { name: "Revoke" }).click();
    await one.getByText("You are logged out: log in again.").waitFor();

    // Whoever logs out is out, also after a reload; the device is gone.
    await reader.getByRole("button", { name: "Log out" }).last().click();
    await reader.getByLabel("Token or pairing code").waitFor();
    await reader.reload();
    await reader.getByLabel("Token or pairing code").waitFor();
    const { tokens } = await stage.ask("_tenon/gateway/tokens", { action: "list" });
    const good = tokens.filter((token: { revokedAt?: number }) => token.revokedAt === undefined);
    expect(good.map(({ name }: { name: string }) => name)).not.toContain("reader");
  },
  { ...NEEDS, ...ON_FILES_ONLY },
);

scenario(
  ["G779"],
  "the page of one node shows all nodes and their leases, and answers a question of a session at another",
  async () => {
    await using town = new Town();
    town.pageFolder = join(TENON, "../../page");
    await town.start("south");
    await town.start("north");
    const owner = await town.client("south", "owner");
    const sessionId = await owner.create();
    const sum = { name: "sum", description: "Adds", inputSchema: { type: "object" } };
    await owner.ask("_tenon/session/set_tools", { sessionId, key: "calc", tools: [sum] });
    owner.answers("_tenon/tool/call", () => ({ content: [{ type: "text", text: "the sum is 5" }] }));
    const admin = await town.client("north", "admin");
    const { url } = await admin.ask("_tenon/gateway/page", { name: "phone", scopes: ["read", "approve", "admin"] });
    const browser = await launch();
    try {
      const page = await browser.newPage({ viewport: PHONE });
      await page.goto(String(url));
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      const prompting = owner.prompt(sessionId, "call mcp__calc__sum {}");
      await page.getByRole("link", { name: /Approvals/u }).click();
      await page.getByRole("button", { name: "Allow once" }).click();
      expect(JSON.stringify(await prompting)).toContain("the sum is 5");
      await page.getByRole("link", { name: "Gateway" }).click();
      await page.getByText("name of south").waitFor();
      const rows = await page.locator(".row", { hasText: "name of" }).allTextContents();
      expect(rows.map((row) => row.replaceAll(/\d\.\d s/gu, "2.0 s"))).toEqual([
        "name of southTenon 1 · 1 sessionslease 2.0 s",
        "name of northTenon 1 · 0 sessionsthis onelease 2.0 s",
      ]);
    } finally {
      await browser.close();
    }
  },
  NEEDS,
);

scenario(
  ["G702"],
  "tenon trace writes one file from a recording or a journal; a browser shows it without network, and no text breaks out",
  async () => {
    await using stage = await PageStage.start([]);
    const { path: home } = stage.home;
    const canary = "</script><script>globalThis.canary = 1</script><!-- \u202Ebidi";
    const line = (entry: object) => JSON.stringify(entry);
    const recording = [
      line({ t: 1, seq: 1, channel: "trace", message: { kind: "start", format: 1, tenon: "0.1.0" } }),
      line({
        t: 10,
        seq: 2,
        channel: "mcp",
        dir: "out",
        server: "s",
        connection: 1,
        message: { open: { kind: "stdio" } },
      }),
      line({
        t: 11,
        seq: 3,
        channel: "mcp",
        dir: "out",
        server: "s",
        connection: 1,
        message: { id: 1, method: "initialize" },
      }),
      line({ t: 40, seq: 4, channel: "mcp", dir: "in", server: "s", connection: 1, message: { id: 1, result: {} } }),
      line({
        ...{ t: 50, seq: 5, channel: "acp", dir: "in" },
        message: { id: 3, method: "session/prompt", params: { prompt: [{ type: "text", text: canary }] } },
      }),
      line({
        t: 60,
        seq: 6,
        channel: "model",
        dir: "out",
        message: { kind: "request", exchange: 1, body: { model: "m-1" } },
      }),
      line({ t: 90, seq: 7, channel: "model", dir: "in", message: { kind: "end", exchange: 1 } }),
      line({
        ...{ t: 91, seq: 8, channel: "mcp", dir: "out", server: "s", connection: 1 },
        message: { id: 2, method: "tools/call", params: { name: "echo", arguments: { text: canary } } },
      }),
      line({
        ...{ t: 99, seq: 9, channel: "mcp", dir: "in", server: "s", connection: 1 },
        message: { id: 2, result: { content: [{ type: "text", text: canary }] } },
      }),
      line({ t: 100, seq: 10, channel: "acp", dir: "out", message: { id: 3, result: { stopReason: "end_turn" } } }),
    ];
    writeFileSync(join(home, "run.ndjson"), recording.join("\n"));
    const tenon = (...args: string[]) => runCommand(agentNode(), [TENON, ...args], { env: cleanEnv(home), cwd: home });
    const { code, stdout } = await tenon("trace", "run.ndjson", "-o", "run.html");
    expect([code, stdout]).toEqual([0, expect.stringContaining("2 groups, 4 calls")]);
    expect(readFileSync(join(home, "run.html"), "utf8").match(/<script/gu)).toHaveLength(2);
    const page = await stage.fresh();
    await page.goto(`file://${join(home, "run.html")}`);
    expect(await page.locator(".span-label").allTextContents()).toEqual([
      " start s",
      " s: initialize",
      " m-1",
      " s / echo",
    ]);
    await page.locator(".span-row", { hasText: "s / echo" }).click();
    expect(await words(page, ".span-detail")).toContain("\\u{202E}bidi");
    expect(await page.evaluate("globalThis.canary")).toBeUndefined();

    const header = line({ v: 1, id: "x", cwd: home, t: 1 });
    const prompt = line({ seq: 1, t: 5, kind: "prompt", turn: 1, content: [{ type: "text", text: "hi" }] });
    writeFileSync(join(home, "journal.ndjson"), [header, prompt, prompt, "torn"].join("\n"));
    const journal = await tenon("trace", "journal.ndjson");
    expect([journal.code, journal.stderr]).toEqual([0, expect.stringContaining("1 lines of it are no records")]);
    await page.goto(`file://${join(home, "journal.html")}`);
    await page.getByText("hi", { exact: true }).waitFor();
    expect((await tenon("trace", "none.ndjson")).code).not.toBe(0);
    expect((await tenon("trace", "config.json")).stderr).toContain("no line of a trace");
    expect((await tenon("trace", "run.ndjson", "-o", "none/x.html")).stderr).toContain("cannot be written");
    expect(stage.faults).toEqual([]);
  },
  NEEDS,
);
