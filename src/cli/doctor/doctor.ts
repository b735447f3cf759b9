// `tenon doctor`: looks at everything a session here needs, and ends with what to do.

import { type CommandContext, print, printJson } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { liveConfig } from "../servers/connect.js";
import { visitAll } from "../servers/visit-all.js";
import type { Given } from "../table/command.js";
import { progress } from "../terminal/progress.js";
import { checkConfiguration, checkModels, checkTrust } from "./config-checks.js";
import { checkEditor } from "./editor-check.js";
import { checkEditors } from "./editors-check.js";
import type { Finding } from "./finding.js";
import { checkCommandEnvironment, checkFolders, checkKeyring, checkNode, checkSandbox } from "./machine-checks.js";
import { findingLines, findingsJson } from "./report.js";
import { checkEntries, checkServers } from "./server-checks.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly "no-connect"?: boolean | undefined;
}

export async function runDoctor({ values }: Given<Values>, context: CommandContext): Promise<number> {
  const findings = await examine(context, values["no-connect"] !== true);
  if (values.json === true) printJson(context, findingsJson(findings));
  else print(context, findingLines(findings, context));
  return findings.some(({ state }) => state === "wrong") ? EXIT.failed : EXIT.done;
}

async function examine(context: CommandContext, mayConnect: boolean): Promise<readonly Finding[]> {
  const config = await liveConfig(context);
  const looked = mayConnect ? await visitAll(config, context, { timeoutMs: CLI_LIMITS.connectMs }) : undefined;
  using _shown = progress(context, "Looking at this machine…");
  const [folders, models, sandbox, keyring, editor, editors] = await Promise.all([
    checkFolders(context),
    checkModels(config, context),
    checkSandbox(config, context),
    checkKeyring(config, context),
    checkEditor(context),
    checkEditors(context),
  ]);
  return [
    checkNode(),
    ...checkConfiguration(config, context),
    checkTrust(config),
    ...models,
    ...(looked ? checkServers(looked) : checkEntries(config)),
    sandbox,
    ...checkCommandEnvironment(config, context),
    ...keyring,
    ...folders,
    editor,
    editors,
  ];
}
