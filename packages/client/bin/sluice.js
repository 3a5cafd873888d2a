#!/usr/bin/env node
import "../dist/sluice.js";
