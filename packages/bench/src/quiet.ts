// Must run before wrangler is loaded: its line for every delivery would affect the measurement.
process.env["WRANGLER_LOG"] ??= "error";
