// A real gateway with a browser in front of it: everything a page says, loads or does wrong is kept.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { scriptedServer, type ToolScript } from "../../../src/testing/index.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";
import { type Frame, WireClient } from "../gateway/wire-client.js";
import { agentNode, TENON } from "../peers.js";

export const PHONE = { width: 360, height: 740 } as const;
export const DESK = { width: 1280, height: 800 } as const;
const ALL_SCOPES = ["read", "prompt", "approve", "tools", "admin"];
const WAIT_MS = 10_000;

/** What an answer holds is the scenario's to check. */
export type Answer = ReturnType<typeof JSON.parse>;

/** A home with a server of its own, the gateway, and an editor at its socket. */
export class PageStage implements AsyncDisposable {
  readonly home: TemporaryFolder;
  readonly editor: WireClient;
  /** Policy violations, errors and warnings of every page. */
  readonly faults: string[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #browser: Browser;

  private constructor(home: TemporaryFolder, child: ChildProcess, editor: WireClient, browser: Browser) {
    this.home = home;
    this.#child = child;
    this.#exited = once(child, "exit");
    this.editor = editor;
    this.#browser = browser;
  }

  static async start(tools: readonly ToolScript[]): Promise<PageStage> {
    const home = new TemporaryFolder();
    const { command, args, env } = scriptedServer({ tools });
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { s: { command, args, env } } }));
    const socket = join(home.path, "run", "g.sock");
    const words = [TENON, "gateway", "run", "--socket", socket];
    const child = spawn(agentNode(), words, {
      env: cleanEnv(home.path, { TENON_LOG: "error" }),
      cwd: home.path,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const browser = await launch().catch((error: unknown) => {
      child.kill("SIGKILL");
      throw error;
    });
    if (!existsSync(socket)) await once(child.stdout, "data");
    const editor = await WireClient.open(`ws+unix:${socket}:/acp`);
    await editor.initialize({ tenon: { client: { name: "editor" } } });
    return new PageStage(home, child, editor, browser);
  }

  async ask(method: string, params: object): Promise<Answer> {
    const frame: Frame = await this.editor.request(method, params);
    if (frame.error) throw new Error(frame.error.message);
    return frame.result;
  }

  async newSession(folder: string): Promise<string> {
    const cwd = join(this.home.path, folder);
    mkdirSync(cwd, { recursive: true });
    return (await this.ask("session/new", { cwd, mcpServers: [] })).sessionId;
  }

  /** As the editor: resolves with the end of the turn. */
  async prompt(sessionId: string, text: string): Promise<Answer> {
    return await this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** A browser of its own, let in by a pairing code. */
  async open(
    size: { readonly width: number; readonly height: number },
    device: { readonly name: string; readonly sessionId?: string; readonly scopes?: readonly string[] },
  ): Promise<Page> {
    const { name, sessionId, scopes = ALL_SCOPES } = device;
    const { url } = await this.ask("_tenon/gateway/page", { name, scopes, sessionId });
    const context = await this.#browser.newContext({ viewport: size, colorScheme: "light", deviceScaleFactor: 1 });
    const page = await this.watched(context);
    await page.goto(url);
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    return page;
  }

  /** Everything it complains about is a fault. */
  async watched(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.faults.push(message.text());
    });
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("requestfailed", (request) => this.faults.push(`${request.url()}: ${request.failure()?.errorText}`));
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`));
    });
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.editor.web.terminate();
    this.#child.kill("SIGKILL");
    await this.#exited;
    this.home[Symbol.dispose]();
  }
}

async function launch(): Promise<Browser> {
  const path = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "chromium"));
  const executablePath = path.find((file) => existsSync(file)) ?? "chromium";
  // Without a sandbox of its own: tests run as root, which Chromium refuses otherwise. Only pages of this test are opened.
  return await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** A picture for the documents, where one is asked for. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["TENON_SCREENSHOTS"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}
