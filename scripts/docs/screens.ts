// docs/images/chat-*.png: screens of the built `tenon chat` in a real terminal (tmux), with a scripted model, drawn by Chromium.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { scriptedServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "../../test/scenarios/agent.js";
import { TmuxTerminal } from "../../test/scenarios/tmux.js";
import { ROOT } from "../lib/run.js";

const COLUMNS = 96;
const ROWS = 30;

const ANSWER = [
  "The retry loop never waits: `backoff` is computed and not used.\n\n",
  "| attempt | waits now | should wait |\n|---|---|---|\n| 1 | 0 ms | 200 ms |\n| 2 | 0 ms | 400 ms |\n\n",
  "1. Use it in `retry()`:\n\n```ts\nawait sleep(backoff(attempt)); // doubles, with jitter\n```\n\n",
  "2. **Bound** the attempts, or a dead server is asked for ever.",
].join("");

const SOURCE =
  "export async function retry(work: () => Promise<void>) {\n  for (let attempt = 1; ; attempt++) {\n    if (await tried(work)) return;\n  }\n}\n";

/** Writes the pictures; returns their paths. */
export async function screens(): Promise<readonly string[]> {
  using home = new TemporaryFolder();
  const project = join(home.path, "shop");
  mkdirSync(project);
  writeFileSync(join(project, "retry.ts"), SOURCE);
  const tickets = scriptedServer({
    tools: [{ name: "find_ticket", reply: { kind: "text", text: "SHOP-12: orders are sent twice" } }],
  });
  writeFileSync(
    join(home.path, "config.json"),
    JSON.stringify({ mcpServers: { tickets, calendar: { command: "calendar-mcp" } } }),
  );
  await using provider = await fakeProvider();
  const edit = {
    path: "retry.ts",
    edits: [
      {
        old_text: "    if (await tried(work)) return;",
        new_text:
          '    if (await tried(work)) return;\n    if (attempt === 5) throw new Error("gave up");\n    await sleep(backoff(attempt));',
      },
    ],
  };
  provider.reply(answerText(ANSWER), answerToolCall("edit_file", edit), answerText("Done."));
  const env = {
    TENON_MODEL: "openai-compatible/m",
    TENON_BASE_URL: provider.url,
    PATH: "/usr/local/bin:/usr/bin:/bin",
  };
  await using terminal = await TmuxTerminal.start(home, { env, columns: COLUMNS, rows: ROWS, cwd: project });
  await terminal.ready();
  await terminal.until("calendar");
  await terminal.send("why does the retry loop hammer the server?");
  await terminal.until("asked for ever.");
  const answer = await terminal.coloured();
  await terminal.send("fix it");
  await terminal.asked();
  const approval = await terminal.coloured();
  await terminal.press("Escape");
  const shots = [
    ["chat-answer.png", answer],
    ["chat-approval.png", approval],
  ] as const;
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const page = await browser.newPage({ deviceScaleFactor: 2, viewport: { width: 900, height: 700 } });
    for (const [name, text] of shots) {
      await page.setContent(pageOf(text.replaceAll(home.path, "~")));
      await page.locator("pre").screenshot({ path: join(ROOT, "docs/images", name) });
    }
  } finally {
    await browser.close();
  }
  return shots.map(([name]) => `docs/images/${name}`);
}

const PALETTE = ["#282c34", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"];
const BRIGHT = ["#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#7cc3ff", "#e39af7", "#6fd3df", "#ffffff"];

interface Look {
  color?: string;
  background?: string;
  isBold?: boolean;
  isDim?: boolean;
  isItalic?: boolean;
  isUnderlined?: boolean;
  isReversed?: boolean;
}

function pageOf(text: string): string {
  const style =
    "margin:0;padding:16px 20px;background:#21252b;color:#d7dae0;font:14px/1.35 'DejaVu Sans Mono',monospace;display:inline-block;border-radius:8px";
  return `<body style="margin:0"><pre style="${style}">${coloured(text)}</pre></body>`;
}

/** The colours that tmux writes, as spans. */
function coloured(text: string): string {
  let look: Look = {};
  return text
    .replaceAll(/\p{Cc}\]8;[^\p{Cc}]*\p{Cc}\\?/gu, "") // links
    .split(/(\p{Cc}\[[\d;]*m)/u)
    .map((part) => {
      const codes = /^\p{Cc}\[([\d;]*)m$/u.exec(part)?.[1];
      if (codes === undefined) return spanOf(part, look);
      look = after(look, codes.split(";").map(Number));
      return "";
    })
    .join("");
}

function after(before: Look, codes: readonly number[]): Look {
  const look: Look = { ...before };
  const rest = [...codes];
  for (let code = rest.shift(); code !== undefined; code = rest.shift()) {
    if (code === 0) for (const key of Object.keys(look)) Reflect.deleteProperty(look, key);
    if (code === 1) look.isBold = true;
    if (code === 2) look.isDim = true;
    if (code === 3) look.isItalic = true;
    if (code === 4) look.isUnderlined = true;
    if (code === 7) look.isReversed = true;
    if (code === 22) look.isBold = look.isDim = false;
    if (code === 23) look.isItalic = false;
    if (code === 24) look.isUnderlined = false;
    if (code === 27) look.isReversed = false;
    if (code === 39) delete look.color;
    if (code === 49) delete look.background;
    if (code >= 30 && code <= 37) look.color = PALETTE[code - 30] ?? "";
    if (code >= 90 && code <= 97) look.color = BRIGHT[code - 90] ?? "";
    if (code >= 40 && code <= 47) look.background = PALETTE[code - 40] ?? "";
    if (code === 38 || code === 48) {
      const [, index = 0] = rest.splice(0, 2);
      look[code === 38 ? "color" : "background"] = indexed(index);
    }
  }
  return look;
}

function indexed(index: number): string {
  if (index < 8) return PALETTE[index] ?? "";
  if (index < 16) return BRIGHT[index - 8] ?? "";
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  if (index < 232) return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
  const grey = 8 + (index - 232) * 10;
  return `rgb(${grey},${grey},${grey})`;
}

function spanOf(text: string, look: Look): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const { color = "#d7dae0", background = "transparent", isBold, isDim, isItalic, isUnderlined, isReversed } = look;
  const styles = [
    isReversed ? `color:#21252b;background:${color}` : `color:${color};background:${background}`,
    ...(isBold ? ["font-weight:bold"] : []),
    ...(isDim ? ["opacity:.6"] : []),
    ...(isItalic ? ["font-style:italic"] : []),
    ...(isUnderlined ? ["text-decoration:underline"] : []),
  ];
  return `<span style="${styles.join(";")}">${escaped}</span>`;
}
