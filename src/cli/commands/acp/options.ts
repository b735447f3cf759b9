// `tenon acp` with options: serves, or keeps a provider's key in the keyring.
import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import { tenonPaths } from "../../../config/index.js";
import { checkGatewayUrls } from "../../../translator/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { type GatewayChoice, optionPath, useAgentDirectory } from "../../context.js";
import { setUpProvider } from "../login/login.js";

type AcpFlags = "setup" | "gateway" | "insecure";
type AcpTexts = "config" | "mcp-config" | "model" | "trace" | "token-file";

export const runAcpWithOptions: Run<Values<AcpFlags, AcpTexts>> = async ({ values, words: [url] }, context) => {
  const { model, trace, setup, config, "mcp-config": servers } = values;
  const { world } = context;
  const directory = config === undefined ? undefined : optionPath("--config", config, { world });
  const mcpConfig = servers === undefined ? undefined : optionPath("--mcp-config", servers, { world });
  if (directory !== undefined) useAgentDirectory(directory);
  const env = { ...world.env, ...defined({ TENON_HOME: directory }) };
  const gateway = gatewayChoice({ ...values, ...defined({ url }) }, world);
  if (setup === true) await setUpProvider(context, tenonPaths(env).configFile);
  else await context.serve?.(defined({ model, trace, config: directory, mcpConfig, gateway }));
};

type GatewayWords = Values<AcpFlags, AcpTexts> & { readonly url?: string };

/** Throws `usage.invalid` for what does not go together. */
function gatewayChoice(given: GatewayWords, world: World): GatewayChoice | undefined {
  const { gateway, url, insecure = false, "token-file": tokenFile } = given;
  if (gateway !== true) {
    const needs = (what: string) => misused(`${what} is for --gateway`);
    if (url !== undefined) throw needs("an address");
    if (tokenFile !== undefined) throw needs("--token-file");
    if (insecure) throw needs("--insecure");
    return undefined;
  }
  // The agent runs in the gateway, which reads the configuration of the session's directory.
  if (given["mcp-config"] !== undefined) throw misused("--mcp-config does not go with --gateway: use tenon mcp add");
  if (given.model !== undefined)
    throw misused("--model does not go with --gateway: set TENON_MODEL, or model in config.json");
  if (url === undefined) {
    if (tokenFile !== undefined || insecure) throw misused("--token-file and --insecure need the address of a gateway");
    return {};
  }
  const path = tokenFile === undefined ? undefined : optionPath("--token-file", tokenFile, { world });
  return { urls: checkGatewayUrls(url, { isInsecure: insecure }), ...defined({ tokenFile: path }) };
}
