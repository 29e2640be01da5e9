// Packages are looked up where the suite has installed them, not beside these files.

import { createRequire } from "node:module";

export const packaged = createRequire(`${process.env.ONECALL_INTEROP_NPM}/package.json`);
