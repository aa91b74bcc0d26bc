// EXPECT_ERROR(statement, "part of the message"): the statement throws athanor::Error and says so. For tests of every
// layer.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

#define EXPECT_ERROR(statement, part)                                                                           \
  do {                                                                                                          \
    try {                                                                                                       \
      statement;                                                                                                \
      ADD_FAILURE() << #statement << " throws nothing; an Error with \"" << (part) << "\" is due";              \
    } catch (const ::athanor::Error& error) {                                                                   \
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "the message is: " << error.what(); \
    }                                                                                                           \
  } while (false)
