// Everything a program needs to describe jobs.
#pragma once

#include "dataflow/api/job.h"
#include "dataflow/connectors/collection.h"
#include "dataflow/connectors/discard.h"
#include "dataflow/connectors/file_sink.h"
#include "dataflow/connectors/generator.h"
#include "dataflow/connectors/print.h"
#include "dataflow/connectors/sequence.h"
#include "dataflow/connectors/text_files.h"
#include "dataflow/window/watermark_strategy.h"
#include "dataflow/window/window.h"
